"""The types of workloads: what a workload keeps when it becomes placeable, invalid or incomplete."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.hub.keys import Key
from closeknit.hub.problems import Code
from closeknit.hub.quota import Account, Option
from closeknit.hub.request import Group, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import (
    Companions,
    IncompleteWorkload,
    InvalidWorkload,
    ObjectName,
    PlaceableWorkload,
    RunningPod,
    Workload,
    WorkloadBase,
)

REQUEST = Request("team/w", Group("team/w", ()))
WRONG = Code("wrong", "It is wrong.").at()
WORTH_KNOWING = Code("worth-knowing", "It is worth knowing.").at()
BASE = WorkloadBase(
    ObjectName("v1", "PodGroup", "team", "w"),
    "kai",
    priority=7,
    created="2026-11-16T00:00:00Z",
    admitted=True,
    options=(Option(REQUEST),),
    accounts=(Account(("Queue a",), Resources()),),
    grace_period=30.0,
    run_seconds=60.0,
    preemptible=False,
    preempts=False,
    shrinks=False,
    preemption_delay=30.0,
    queue="a",
    strict=True,
    maker=Key("", "Job", "team", "maker"),
    notes=(WORTH_KNOWING,),
    if_left_out=(WORTH_KNOWING,),
    running=(RunningPod("g", "p"),),
    companions=Companions("rack", ()),
)
CONVERTED: list[Any] = [
    pytest.param(BASE.placeable(REQUEST), id="placeable"),
    pytest.param(BASE.invalid((WRONG,)), id="invalid"),
    pytest.param(BASE.incomplete((WRONG,), missing_pods=2), id="incomplete"),
    pytest.param(BASE.placeable(REQUEST).invalid((WRONG,)), id="placeable and then invalid"),
]


def shared(workload: WorkloadBase) -> dict[str, Any]:
    return {name: getattr(workload, name) for name in WorkloadBase.__struct_fields__}


def test_the_example_has_no_default_value_so_that_a_field_that_is_lost_is_noticed() -> None:
    plain = WorkloadBase(ObjectName("", "", "", ""), "")
    assert [name for name, value in shared(BASE).items() if getattr(plain, name) == value] == []


@pytest.mark.parametrize("workload", CONVERTED)
def test_a_workload_keeps_all_its_fields_whatever_it_becomes(workload: Workload) -> None:
    assert shared(workload) == shared(BASE)
    assert workload.key == Key("", "Job", "team", "maker")


@pytest.mark.parametrize("workload", CONVERTED)
def test_only_a_placeable_workload_has_a_request_and_only_others_have_problems(workload: Workload) -> None:
    is_placeable = isinstance(workload, PlaceableWorkload)
    assert hasattr(workload, "request") == is_placeable
    assert hasattr(workload, "problems") == (not is_placeable)


def test_notes_and_running_pods_may_be_replaced_where_the_request_is_set() -> None:
    workload = BASE.placeable(REQUEST, notes=(), running=())
    assert (workload.notes, workload.running) == ((), ())


def test_an_incomplete_workload_knows_how_many_pods_are_missing_and_an_invalid_one_may() -> None:
    assert BASE.incomplete((WRONG,), missing_pods=2).missing_pods == 2
    assert BASE.invalid((WRONG,), missing_pods=2).missing_pods == 2
    assert BASE.invalid((WRONG,)).missing_pods == 0


@pytest.mark.parametrize("kind", [PlaceableWorkload, InvalidWorkload, IncompleteWorkload])
def test_the_garbage_collector_passes_over_workloads(kind: type[msgspec.Struct]) -> None:
    # Decision 26: one is made for every pod, and none can be part of a cycle.
    assert kind.__struct_config__.frozen
    assert not kind.__struct_config__.gc
