"""Outcomes of units: objects of our own, and annotations only in namespaces that ask for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.installation.privileges import GRANTS, Component, allowed
from closeknit.kube.errors import ForbiddenError, NotFoundError
from closeknit.kube.resources import JOBS, NAMESPACES, Resource
from closeknit.scheduler.status.outcomes import name_of, outcome_object
from tests.scenario.bound import OUTCOMES, POD_GROUPS, outcome
from tests.scenario.reported import Cluster, running
from tests.unit.scheduler.objects import pod, pod_group

GANG = [pod_group("g", minMember=2), pod("p0", "g"), pod("p1", "g")]
NAME = name_of(POD_GROUPS, "g")
ASKING = {"metadata": {"labels": {"closeknit.dev/outcome-annotation": "enabled"}}}


async def annotation(cluster: Cluster) -> str | None:
    found = await cluster.api.get(POD_GROUPS, "g", namespace="default")
    text: str | None = (found["metadata"].get("annotations") or {}).get(OUTCOME)
    return text


async def test_the_outcome_is_an_object_that_its_unit_owns_and_the_unit_stays_as_it_is() -> None:
    async with running(*GANG) as cluster:
        unit = await cluster.api.get(POD_GROUPS, "g", namespace="default")
        found = await cluster.api.get(OUTCOMES, NAME, namespace="default")

        assert found["status"]["state"] == "placed"
        assert json.loads(found["status"]["outcome"])["status"] == "placed"
        assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [unit["metadata"]["uid"]]
        assert await annotation(cluster) is None

        await cluster.delete(POD_GROUPS, "g")
        with pytest.raises(NotFoundError):
            await cluster.api.get(OUTCOMES, NAME, namespace="default")


async def test_an_outcome_that_was_deleted_or_forged_is_written_again() -> None:
    async with running(*GANG) as cluster:
        await cluster.delete(OUTCOMES, NAME)
        await cluster.settle(15)
        assert (await outcome(cluster.api, "g"))["status"] == "placed"

        await cluster.patch(OUTCOMES, NAME, {"status": {"outcome": '{"status": "unplaceable"}'}})
        await cluster.settle(60)
        assert (await outcome(cluster.api, "g"))["status"] == "placed"


async def test_a_namespace_may_ask_for_the_annotation() -> None:
    async with running() as cluster:
        await cluster.patch(NAMESPACES, "default", ASKING)
        await cluster.settle(1)
        await cluster.create(*GANG)
        await cluster.settle(30)

        assert json.loads(await annotation(cluster) or "{}")["status"] == "placed"
        assert (await outcome(cluster.api, "g"))["status"] == "placed"


async def test_a_role_that_does_not_allow_the_annotation_costs_neither_outcome_nor_conditions() -> None:
    async with running() as cluster:
        patch = cluster.api.patch

        async def guarded(resource: Resource, name: str, *given: Any, **named: Any) -> Any:
            if resource.kind == POD_GROUPS.kind and not named.get("subresource"):
                raise ForbiddenError("The role does not allow it.")
            return await patch(resource, name, *given, **named)

        await cluster.patch(NAMESPACES, "default", ASKING)
        await cluster.settle(1)
        cluster.api.patch = guarded  # type: ignore[method-assign]
        await cluster.create(*GANG)
        await cluster.settle(30)

        assert await annotation(cluster) is None
        assert (await outcome(cluster.api, "g"))["status"] == "placed"
        conditions = (await cluster.api.get(POD_GROUPS, "g", namespace="default"))["status"]["conditions"]
        assert ("Scheduled", "True") in {(each["type"], each["status"]) for each in conditions}


@pytest.mark.parametrize(
    ("group", "plural"),
    [
        pytest.param("", "pods", id="pods"),
        pytest.param("batch", "jobs", id="Jobs"),
        pytest.param("scheduling.run.ai", "podgroups", id="PodGroups"),
        pytest.param("grove.io", "podcliquesets", id="PodCliqueSets"),
        pytest.param("osmo.closeknit.dev", "workflows", id="Workflows"),
    ],
)
@pytest.mark.parametrize("verb", ["create", "patch", "update", "delete"])
def test_the_scheduler_writes_no_object_of_a_user(verb: str, group: str, plural: str) -> None:
    assert not allowed(Component.SCHEDULER, verb, group, plural)


@pytest.mark.parametrize("component", Component)
def test_every_rule_names_the_call_that_needs_it(component: Component) -> None:
    assert [grant for grant in GRANTS[component] if not grant.call] == []


def test_outcomes_of_different_objects_have_different_names_that_kubernetes_takes() -> None:
    longest = "x" * 253
    names = {
        name_of(each, name) for each in (JOBS, POD_GROUPS) for name in ("a", longest, longest[:-1] + "y")
    }

    assert len(names) == 6
    assert max(map(len, names)) <= 253
    assert outcome_object(JOBS, ObjectMeta(name="a", namespace="n", uid="u"), "")["metadata"]["name"] == (
        "jobs.batch.a"
    )
