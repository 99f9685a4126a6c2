"""A state that followed every change is the one that sees the result for the first time."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.hub.keys import Key
from closeknit.scheduler.cluster_state import ClusterState
from tests.property.effort import effort
from tests.unit.dialects.kai.owned import job, job_set, replicated
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together, topology

NODES = ("n1", "n2", "n3", "n4")
GROUPS = ("g", "h")
PODS = ("p1", "p2", "p3", "p4", "p5", "p6")
_SETS = "jobset.sigs.k8s.io/"


def anything(dice: Random) -> dict[str, Any]:
    """An object of any kind, sometimes a poisonous one."""
    match dice.randrange(11):
        case 10:
            owner: dict[str, Any] = json.loads(
                dice.choice([job(parallelism=2), job_set(replicated("a", 2, 2))])
            )
            owner["metadata"] |= {"namespace": "default", "uid": "u"}
            return owner
        case 0:
            return topology(*dice.choice([("zone", "rack"), ("zone",), ("rack", "zone")]))
        case 1 | 2 | 3:
            made = node(dice.choice(NODES), dice.choice([2, 4, 8]), ready=dice.random() < 0.9)
            made["metadata"]["labels"] = {"zone": "z", "rack": dice.choice(["r1", "r2"])}
            if dice.random() < 0.1:
                made["status"]["allocatable"] = ["poison"]
            return made
        case 4:
            spec: dict[str, Any] = {"minMember": dice.choice([0, 1, 2, 3])}
            if dice.random() < 0.5:
                spec["topologyConstraint"] = together(dice.choice(["rack", "zone"]))
            if dice.random() < 0.4:
                names = [{"name": name, "minMember": dice.choice([0, 1, 2])} for name in ("a", "b")]
                spec = {"subGroups": names, "minSubGroup": dice.choice([1, 2])}
            if dice.random() < 0.1:
                spec = {"minMember": "poison"}
            return pod_group(dice.choice(GROUPS), **spec)
        case _:
            made = pod(
                dice.choice(PODS),
                dice.choice(["", "", *GROUPS, "nowhere"]),
                gpus=dice.choice([1, 1, 2]),
                on=dice.choice(["", "", "", *NODES, "elsewhere"]),
                subgroup=dice.choice(["", "", "a", "b"]),
                scheduler=dice.choice(["closeknit", "closeknit", "default-scheduler"]),
                phase=dice.choice(["Pending", "Pending", "Running", "Succeeded", "Failed"]),
            )
            if dice.random() < 0.1:
                made["spec"]["schedulingGates"] = [{"name": "wait"}]
            if dice.random() < 0.1:
                made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            if dice.random() < 0.3:
                index = dice.choice("01")
                made["metadata"].setdefault("labels", {})[f"{_SETS}replicatedjob-name"] = "a"
                made["metadata"]["labels"][f"{_SETS}job-index"] = index
                controller = {"kind": "Job", "name": dice.choice(["x", f"x-a-{index}"]), "uid": "u"}
                made["metadata"]["ownerReferences"] = [
                    {"apiVersion": "batch/v1", **controller, "controller": True}
                ]
            return made


def seen(state: ClusterState) -> object:
    """Units, what each node has left, and who holds what."""
    ledger = state.engine._ledger
    rows = {
        name: {counted: int(ledger.free[row, slot]) for row, counted in enumerate(ledger.rows)}
        for name, slot in ledger.slot_of.items()
    }
    alike = {resource for row in rows.values() for resource, free in row.items() if free}
    held: dict[tuple[str, str, object], int] = {}
    for slots in ledger.holdings.of.values():
        for holdings in slots.values():
            for each in holdings:
                name = (each.workload, each.node, each.resources)
                held[name] = held.get(name, 0) + each.pods
    free = {name: {resource: row.get(resource, 0) for resource in alike} for name, row in rows.items()}
    return dict(state.units), free, held, state.topologies


def step(state: ClusterState, said: dict[Key, Entry], dice: Random) -> None:
    match dice.randrange(12):
        case 0 | 1:
            if said:
                key = dice.choice(sorted(said))
                del said[key]
                state.remove(key)
        case 2 | 3 | 4:
            waiting = [key for key in sorted(said) if key.kind == "Pod" and state.is_open(key)]
            if waiting:
                state.assume(dice.choice(waiting), dice.choice(NODES))
        case 5:
            pods = [key for key in sorted(said) if key.kind == "Pod"]
            if pods:
                state.forget(dice.choice(pods))
        case 6:
            assert state.engine is state.engine
        case _:
            made = entry(anything(dice))
            said[made.key] = made
            state.put(made)


@effort(100)
@given(st.randoms(use_true_random=False))
def test_following_every_change_gives_what_the_result_gives(dice: Random) -> None:
    state, said = ClusterState(), dict[Key, Entry]()
    units: dict[Key, object] = {}
    for _ in range(dice.randrange(60)):
        step(state, said, dice)
        if dice.random() < 0.2:
            units |= state.news().units
    units |= state.news().units

    fresh = ClusterState()
    for key in said:
        believed = state.view.entry(key)
        assert believed is not None
        if not state.is_assumed(key):
            assert believed == said[key]
        fresh.put(believed)
    fresh.news()

    assert seen(state) == seen(fresh)
    # Whoever collects the news has all units.
    assert {key: unit for key, unit in units.items() if unit is not None} == dict(state.units)


@effort(30)
@given(st.randoms(use_true_random=False))
def test_forgetting_all_that_was_assumed_gives_what_the_server_says(dice: Random) -> None:
    state, said = ClusterState(), dict[Key, Entry]()
    for _ in range(dice.randrange(60)):
        step(state, said, dice)
        if dice.random() < 0.2:
            state.news()
    for key in said:
        state.forget(key)
    state.news()

    fresh = ClusterState()
    for each in said.values():
        fresh.put(each)
    fresh.news()

    assert seen(state) == seen(fresh)
    assert all(
        isinstance(state.pod(key), Stored) == isinstance(said[key], Stored)
        for key in said
        if key.kind == "Pod"
    )
