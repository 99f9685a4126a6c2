"""A queue's usage is what the pods of its units request, whatever happens to pods, units and queues."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.scheduler.changes import QuotaChanged
from closeknit.scheduler.cluster_state import ClusterState
from tests.kit.quota_recount import Usage, differences, recounted
from tests.property.effort import effort
from tests.unit.scheduler.objects import entry, node, pod, pod_group, queue

NODES = ("n1", "n2", "n3")
GROUPS = ("g", "h", "i")
QUEUES = ("top", "left", "right", "leaf")
PODS = tuple(f"p{i}" for i in range(8))
JOB = "j"


class World:
    """What an API server holds, and a scheduler's state that follows it and assumes more."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        for name in NODES:
            self.state.put(entry(node(name)))

    def put(self, obj: dict[str, Any]) -> None:
        """Create or replace an object."""
        self.objects[obj["kind"], obj["metadata"]["name"]] = obj
        self.state.put(entry(obj))

    def delete(self, kind: str, name: str) -> None:
        """Delete an object at once."""
        if self.objects.pop((kind, name), None) is not None:
            group = {"Queue": "scheduling.run.ai", "PodGroup": "scheduling.run.ai", "Job": "batch"}.get(
                kind, ""
            )
            self.state.remove(Key(group, kind, "" if kind == "Queue" else "default", name))

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """The objects of some kinds; pods as they are assumed to be."""
        found = [obj for (kind, _), obj in self.objects.items() if kind in kinds]
        return [self._assumed(obj) if obj["kind"] == "Pod" else obj for obj in found]

    def _assumed(self, obj: dict[str, Any]) -> dict[str, Any]:
        known = self.state.pod(_key(obj["metadata"]["name"]))
        assert known is not None
        node_name = known.content.spec.node_name
        return {**obj, "spec": {**obj["spec"], "nodeName": node_name}} if node_name else obj

    def recount(self) -> dict[str, Usage]:
        """The usage of every queue, counted from the objects."""
        return recounted(self.of("Queue"), self.of("PodGroup", "Job"), self.of("Pod"))

    def differences(self) -> list[str]:
        """Where the scheduler's state counts otherwise."""
        return differences(self.state.usage.accounts, self.recount())


def _key(name: str) -> Key:
    return Key("", "Pod", "default", name)


def job(queue_name: str) -> dict[str, Any]:
    template = {"spec": {**pod("t")["spec"], "restartPolicy": "Never"}}
    metadata = {
        "name": JOB,
        "namespace": "default",
        "uid": "u",
        "labels": {"kai.scheduler/queue": queue_name},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }


def change_an_object(world: World, rng: Random) -> None:
    """A queue, a unit or a pod appears, changes or disappears."""
    match rng.randrange(9):
        case 0:
            name = rng.choice(QUEUES)
            world.put(queue(name, rng.choice(["", "", *QUEUES]), gpu={"quota": rng.choice([0, 2, -1])}))
        case 1:
            world.delete("Queue", rng.choice(QUEUES))
        case 2 | 3:
            spec: dict[str, Any] = {
                "minMember": rng.choice([1, 2, 4]),
                "queue": rng.choice([*QUEUES, "none"]),
            }
            if rng.random() < 0.3:
                spec["preemptibility"] = rng.choice(["preemptible", "non-preemptible"])
            if rng.random() < 0.3:
                spec["priorityClassName"] = rng.choice(["train", "build", "none-such"])
            if rng.random() < 0.2:
                spec["subGroups"] = [{"name": "a", "minMember": 1}]
            world.put(pod_group(rng.choice(GROUPS), **spec))
        case 4:
            world.delete(*rng.choice([("Job", JOB), *(("PodGroup", name) for name in GROUPS)]))
        case 5:
            world.put(job(rng.choice(QUEUES)))
        case _:
            put_a_pod(world, rng)


def put_a_pod(world: World, rng: Random) -> None:
    name, group = rng.choice(PODS), rng.choice(["", JOB, *GROUPS, "nowhere"])
    made = pod(
        name,
        "" if group == JOB else group,
        gpus=rng.choice([1, 1, 2]),
        on=rng.choice(["", "", "", *NODES, "gone"]),
        subgroup=rng.choice(["", "", "a"]),
        phase=rng.choice(["Pending", "Running", "Running", "Succeeded", "Failed"]),
    )
    if group == JOB:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": JOB, "uid": "u", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
        made["metadata"]["labels"] = {"batch.kubernetes.io/job-name": JOB}
    if rng.random() < 0.2:
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.put(made)


def change_a_pod(world: World, rng: Random) -> None:
    """A pod that exists is assumed, bound, evicted, forgotten or deleted, or ends."""
    pods = sorted(name for kind, name in world.objects if kind == "Pod")
    if not pods:
        return
    name = rng.choice(pods)
    obj, key = world.objects["Pod", name], _key(name)
    match rng.randrange(6):
        case 0:
            if world.state.is_open(key):
                world.state.assume(key, rng.choice(NODES))
        case 1:
            world.state.forget(key)
        case 2:
            known = world.state.pod(key)
            assert known is not None
            if known.content.spec.node_name:
                bound = {**obj["spec"], "nodeName": known.content.spec.node_name}
                world.put({**obj, "spec": bound, "status": {"phase": rng.choice(["Running", "Failed"])}})
        case 3:
            gone = {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
            world.state.evicted(key, obj["metadata"]["uid"])
            world.put({**obj, "metadata": gone})
        case 4:
            world.delete("Pod", name)
        case _:
            world.put({**obj, "metadata": {**obj["metadata"], "labels": {"changed": str(rng.random())}}})


def given_back(before: dict[str, Usage], after: dict[str, Usage]) -> set[tuple[str, ...]]:
    """The accounts of queues that use less of something than before."""
    return {
        account
        for name in before.keys() & after.keys()
        for account, old, new in (
            ((f"Queue {name}",), before[name].all, after[name].all),
            ((f"Queue {name}", "not preemptible"), before[name].not_preemptible, after[name].not_preemptible),
        )
        if any(new.get(resource, 0) < amount for resource, amount in old.items())
    }


@effort(200)
@given(st.randoms(use_true_random=False))
def test_a_queue_uses_what_its_pods_request_after_every_look(rng: Random) -> None:
    world = World()
    for _ in range(rng.randrange(1, 60)):
        before = world.recount()
        for _ in range(rng.choice([1, 1, 3])):
            (change_an_object if rng.random() < 0.5 else change_a_pod)(world, rng)
        changes = world.state.news().changes

        assert world.differences() == []
        # Units that wait for quota are woken by no other change.
        woken = {name for change in changes if isinstance(change, QuotaChanged) for name in change.accounts}
        assert given_back(before, world.recount()) <= woken


@effort(200)
@given(st.randoms(use_true_random=False))
def test_what_happens_to_a_pod_changes_the_usage_of_its_queue_at_once(rng: Random) -> None:
    world = World()
    for _ in range(rng.randrange(20, 40)):
        change_an_object(world, rng)
    world.state.news()
    for _ in range(rng.randrange(1, 20)):
        change_a_pod(world, rng)
        assert world.differences() == []


@effort(50)
@given(st.randoms(use_true_random=False))
def test_usage_does_not_depend_on_what_happened_before(rng: Random) -> None:
    world = World()
    for _ in range(rng.randrange(1, 60)):
        (change_an_object if rng.random() < 0.5 else change_a_pod)(world, rng)
        if rng.random() < 0.3:
            world.state.news()
    world.state.news()
    fresh = ClusterState()
    for known in world.state.entries():
        if isinstance(known, Stored):
            fresh.put(msgspec.structs.replace(known))
    fresh.news()

    assert differences(fresh.usage.accounts, world.recount()) == differences(
        world.state.usage.accounts, world.recount()
    )
    assert differences(fresh.usage.accounts, world.recount()) == []
