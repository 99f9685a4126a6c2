"""Deletion in the embedded cluster: finalizers, grace periods, owners, namespaces."""

from __future__ import annotations

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    DeleteOptions,
    MergePatch,
    Propagation,
    Selection,
)
from closeknit.kube.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
)
from tests.unit.kube.embedded.objects import config_map, names, owned_by, pod


class TestDeletion:
    async def test_an_object_is_gone(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a"))
        answer = await cluster.delete(CONFIG_MAPS, "a", namespace="default")

        assert (answer["kind"], answer["status"], answer["details"]["name"]) == ("Status", "Success", "a")
        with pytest.raises(errors.NotFoundError, match='configmaps "a" not found'):
            await cluster.delete(CONFIG_MAPS, "a", namespace="default")

    async def test_a_finalizer_holds_it_until_it_is_taken_away(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a", metadata={"finalizers": ["x.y/z"]}))
        left = await cluster.delete(CONFIG_MAPS, "a", namespace="default")

        assert "deletionTimestamp" in left["metadata"]
        with pytest.raises(errors.InvalidObjectError, match="no new finalizers"):
            await cluster.patch(
                CONFIG_MAPS,
                "a",
                MergePatch({"metadata": {"finalizers": ["x.y/z", "n.e/w"]}}),
                namespace="default",
            )
        await cluster.patch(
            CONFIG_MAPS, "a", MergePatch({"metadata": {"finalizers": None}}), namespace="default"
        )
        assert await names(cluster, CONFIG_MAPS) == []

    async def test_a_running_pod_has_its_grace_period(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(PODS, pod("a"))
        await cluster.bind("a", "n", namespace="default")
        left = await cluster.delete(PODS, "a", namespace="default")

        assert left["metadata"]["deletionGracePeriodSeconds"] == 30
        await cluster.delete(PODS, "a", namespace="default", options=DeleteOptions(grace_period=0))
        assert await names(cluster, PODS) == []

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(DeleteOptions(uid="another"), id="another uid"),
            pytest.param(DeleteOptions(resource_version="1"), id="another version"),
        ],
    )
    async def test_a_precondition_that_fails_is_a_conflict(
        self, cluster: EmbeddedCluster, options: DeleteOptions
    ) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a"))

        with pytest.raises(errors.ConflictError, match="Precondition failed"):
            await cluster.delete(CONFIG_MAPS, "a", namespace="default", options=options)

    @pytest.mark.parametrize(
        ("propagation", "left"),
        [
            pytest.param(Propagation.BACKGROUND, [], id="in the background they go after it"),
            pytest.param(Propagation.FOREGROUND, [], id="in the foreground they go before it"),
            pytest.param(Propagation.ORPHAN, ["child", "grandchild"], id="orphans stay"),
        ],
    )
    async def test_dependents(
        self, cluster: EmbeddedCluster, propagation: Propagation, left: list[str]
    ) -> None:
        owner = await cluster.create(CONFIG_MAPS, config_map("owner"))
        child = await cluster.create(
            CONFIG_MAPS, config_map("child", metadata={"ownerReferences": owned_by(owner)})
        )
        await cluster.create(
            CONFIG_MAPS, config_map("grandchild", metadata={"ownerReferences": owned_by(child)})
        )

        await cluster.delete(
            CONFIG_MAPS, "owner", namespace="default", options=DeleteOptions(propagation=propagation)
        )

        assert await names(cluster, CONFIG_MAPS) == left
        if left:
            assert (
                "ownerReferences"
                not in (await cluster.get(CONFIG_MAPS, "child", namespace="default"))["metadata"]
            )

    async def test_in_the_foreground_an_owner_waits_for_those_who_block(
        self, cluster: EmbeddedCluster
    ) -> None:
        owner = await cluster.create(CONFIG_MAPS, config_map("owner"))
        held = config_map("child", metadata={"ownerReferences": owned_by(owner), "finalizers": ["x.y/z"]})
        await cluster.create(CONFIG_MAPS, held)

        await cluster.delete(
            CONFIG_MAPS,
            "owner",
            namespace="default",
            options=DeleteOptions(propagation=Propagation.FOREGROUND),
        )
        waiting = await cluster.get(CONFIG_MAPS, "owner", namespace="default")
        await cluster.patch(
            CONFIG_MAPS, "child", MergePatch({"metadata": {"finalizers": None}}), namespace="default"
        )

        assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert await names(cluster, CONFIG_MAPS) == []

    async def test_an_object_whose_owner_never_was_goes(self, cluster: EmbeddedCluster) -> None:
        ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
        await cluster.create(CONFIG_MAPS, config_map("a", metadata={"ownerReferences": owned_by(ghost)}))

        assert await names(cluster, CONFIG_MAPS) == []

    async def test_one_of_two_owners_is_enough(self, cluster: EmbeddedCluster) -> None:
        one = await cluster.create(CONFIG_MAPS, config_map("one"))
        two = await cluster.create(CONFIG_MAPS, config_map("two"))
        await cluster.create(
            CONFIG_MAPS, config_map("child", metadata={"ownerReferences": [*owned_by(one), *owned_by(two)]})
        )

        await cluster.delete(CONFIG_MAPS, "one", namespace="default")

        child = await cluster.get(CONFIG_MAPS, "child", namespace="default")
        assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["two"]

    async def test_a_namespace_takes_its_contents_along(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(NAMESPACES, {"metadata": {"name": "team"}})
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "team"}})
        await cluster.create(
            CONFIG_MAPS, {"metadata": {"name": "b", "namespace": "team", "finalizers": ["x.y/z"]}}
        )

        await cluster.delete(NAMESPACES, "team")
        going = await cluster.get(NAMESPACES, "team")
        with pytest.raises(errors.ForbiddenError, match="because it is being terminated"):
            await cluster.create(CONFIG_MAPS, {"metadata": {"name": "c", "namespace": "team"}})
        await cluster.patch(
            CONFIG_MAPS, "b", MergePatch({"metadata": {"finalizers": None}}), namespace="team"
        )

        assert going["status"]["phase"] == "Terminating"
        with pytest.raises(errors.NotFoundError):
            await cluster.get(NAMESPACES, "team")

    async def test_a_selection_is_deleted(self, cluster: EmbeddedCluster) -> None:
        for name in ("a", "b", "c"):
            await cluster.create(
                CONFIG_MAPS, config_map(name, metadata={"labels": {"keep": str(name == "b").lower()}})
            )

        await cluster.delete_collection(CONFIG_MAPS, Selection(namespace="default", labels="keep=false"))

        assert await names(cluster, CONFIG_MAPS) == ["b"]
