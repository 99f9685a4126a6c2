"""Lists of the embedded cluster: selectors and pages."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import MergePatch, pages
from closeknit.kube.resources import (
    CONFIG_MAPS,
    PODS,
)
from tests.unit.kube.embedded.objects import DEFAULT, config_map, names, pod


class TestSelection:
    @pytest.mark.parametrize(
        ("labels", "want"),
        [
            pytest.param("app=web", ["a", "b"], id="equal"),
            pytest.param("app!=web", ["c", "d"], id="unequal, or absent"),
            pytest.param("app in (web, db),tier", ["a", "c"], id="one of several, and present"),
            pytest.param("!app", ["d"], id="absent"),
            pytest.param("n>1", ["b"], id="greater"),
        ],
    )
    async def test_by_labels(self, cluster: EmbeddedCluster, labels: str, want: list[str]) -> None:
        for name, its in {
            "a": {"app": "web", "tier": "1"},
            "b": {"app": "web", "n": "2"},
            "c": {"app": "db", "tier": "2", "n": "1"},
            "d": {},
        }.items():
            await cluster.create(CONFIG_MAPS, config_map(name, metadata={"labels": its}))

        assert await names(cluster, CONFIG_MAPS, labels=labels) == want

    async def test_by_fields(self, cluster: EmbeddedCluster) -> None:
        for name in ("a", "b"):
            await cluster.create(PODS, pod(name))
        await cluster.bind("a", "n1", namespace="default")

        assert await names(cluster, PODS, fields="spec.nodeName=n1") == ["a"]
        assert await names(cluster, PODS, fields="spec.nodeName=,status.phase!=Failed") == ["b"]
        with pytest.raises(errors.BadRequestError, match=r"field label not supported: spec\.nope"):
            await names(cluster, PODS, fields="spec.nope=1")

    @pytest.mark.parametrize("labels", ["a b", "a in b", "=", "a=b,", "a in (b", "a=b=c", "(a)", "-a"])
    async def test_a_selector_that_cannot_be_read_is_refused(
        self, cluster: EmbeddedCluster, labels: str
    ) -> None:
        with pytest.raises(errors.BadRequestError):
            await names(cluster, CONFIG_MAPS, labels=labels)

    async def test_all_pages_show_one_moment(self, cluster: EmbeddedCluster) -> None:
        for number in range(7):
            await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
        seen: list[str] = []
        async for page in pages(cluster, CONFIG_MAPS, DEFAULT, limit=3):
            seen += [item["metadata"]["name"] for item in page.items]
            await cluster.delete_collection(CONFIG_MAPS, DEFAULT)

        assert seen == [f"c{number}" for number in range(7)]

    async def test_a_token_that_is_forgotten_is_gone(self, cluster: EmbeddedCluster) -> None:
        for number in range(3):
            await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
        token = (await cluster.list(CONFIG_MAPS, limit=1)).token
        for _ in range(100):
            await cluster.list(CONFIG_MAPS, limit=1)

        with pytest.raises(errors.GoneError):
            await cluster.list(CONFIG_MAPS, limit=1, token=token)
        with pytest.raises(errors.BadRequestError):
            await cluster.list(CONFIG_MAPS, limit=1, token="garbage")


class TestMomentsOfThePast:
    async def test_every_moment_that_is_remembered_is_as_it_was(self, cluster: EmbeddedCluster) -> None:
        random = Random(3)
        moments: dict[str, list[str]] = {}
        for _ in range(40):
            name = f"c{random.randrange(5)}"
            with suppress(errors.NotFoundError, errors.AlreadyExistsError):
                match random.randrange(3):
                    case 0:
                        await cluster.create(CONFIG_MAPS, config_map(name))
                    case 1:
                        await cluster.patch(
                            CONFIG_MAPS,
                            name,
                            MergePatch({"data": {"k": str(random.random())}}),
                            namespace="default",
                        )
                    case _:
                        await cluster.delete(CONFIG_MAPS, name, namespace="default")
            page = await cluster.list(CONFIG_MAPS, DEFAULT)
            moments[page.resource_version] = list(page.versions)

        for version, versions in moments.items():
            past = await cluster.identities(CONFIG_MAPS, DEFAULT, resource_version=version)
            assert (past.resource_version, past.versions) == (version, versions)

    async def test_a_moment_that_is_forgotten_is_gone(self, cluster: EmbeddedCluster) -> None:
        page = await cluster.list(CONFIG_MAPS, DEFAULT)
        await cluster.create(CONFIG_MAPS, config_map("a"))
        cluster.forget_history()

        with pytest.raises(errors.GoneError):
            await cluster.identities(CONFIG_MAPS, DEFAULT, resource_version=page.resource_version)
