"""What a search keeps count of: domains in use, pods confined to them, and groups that wait."""

from __future__ import annotations

import pytest

from closeknit.engine import Engine
from closeknit.engine.compiled_request import CompiledRequest, Goal
from closeknit.engine.component import Content, Contents
from closeknit.engine.open_groups import needed_beside, pick, waiting, without_tried
from closeknit.engine.tallies import Loads, Tally
from closeknit.hub.request import Member
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    b1
      r1
        x1: 4
      r2
        x2: 4
""")


def compile_members(*members: Member) -> CompiledRequest:
    return Engine(CLUSTER)._compile(request("w", *members), Goal.WISHES)


ALIKE = (
    group("a", pods("p", 2), required="rack"),
    group("b", pods("q", 2), required="rack"),
    group("c", pods("r", 2), required="rack"),
    group("d", pods("s", 3), required="rack"),
)


@pytest.mark.parametrize("asked_early", [True, False], ids=["asked before", "asked after"])
def test_a_tally_as_an_array_follows_later_changes(asked_early: bool) -> None:
    tally = Tally(4, once=[3])
    early = tally.all() if asked_early else None
    tally.add(1, 5)
    tally.add(2, 1)
    tally.add(2, -1)
    tally.add(3, -1)

    assert tally.all().tolist() == [0, 5, 0, 0]
    assert early is None or early is tally.all()
    assert (len(tally), 1 in tally, 2 in tally, tally[1], tally[2]) == (1, True, False, 5, 0)


def test_loads_that_come_to_nothing_are_as_if_they_had_never_been() -> None:
    loads = Loads(compile_members(*ALIKE).tree)
    loads.add(1, 0, 0, 2)
    assert (loads.count(1, 0, 0), loads.count(1, 1, 0), loads.count(0, 0, 0)) == (2, 0, 0)
    loads.add(1, 0, 0, -2)

    assert loads.at(1, 0) is None


def test_contents_are_found_by_every_domain_around_them_until_they_are_cut() -> None:
    compiled = compile_members(*ALIKE)
    contents = Contents(compiled.tree)
    first = Content(1, 0, compiled.pod_sets[0], ())
    second = Content(1, 1, compiled.pod_sets[1], ())
    wide = Content(0, 0, compiled.pod_sets[2], ())
    contents.add([first, second])
    assert contents.outermost() == [(1, 0, [first]), (1, 1, [second])]
    contents.add([wide])

    assert contents.inside(1, 0) == [first]
    assert contents.inside(0, 0) == contents.inside(-1, 0) == [first, second, wide]
    assert contents.outermost() == [(0, 0, [wide, first, second])]
    contents.cut(1)
    assert (contents.inside(0, 0), contents.inside(1, 1), len(contents)) == ([first], [], 1)


def test_groups_alike_wait_as_one_and_go_in_name_order() -> None:
    compiled = compile_members(*ALIKE)
    open_groups = waiting(compiled.groups[1:], -1, 0, ())
    assert [(each.group.name, each.count) for each in open_groups] == [("a", 3), ("d", 1)]

    first, rest = pick(open_groups, lambda each: each.group.name)
    second, later = pick(rest, lambda each: each.group.name)

    assert (first.group.name, second.group.name) == ("a", "b")
    assert sorted((each.group.name, each.count) for each in later) == [("c", 1), ("d", 1)]
    assert needed_beside(first, rest, 1) == [2 * 2 + 3]


def test_what_a_group_has_been_through_is_struck_for_its_twins_only() -> None:
    compiled = compile_members(*ALIKE)
    first, rest = pick(waiting(compiled.groups[1:], -1, 0, ()), lambda each: each.group.name)
    once = without_tried(first, rest, {1: {0}})
    twice = without_tried(first, once, {1: {1}})

    assert {each.group.name: dict(each.struck) for each in twice} == {"b": {1: {0, 1}}, "d": {}}


def test_twins_inside_another_domain_may_try_everything() -> None:
    compiled = compile_members(*ALIKE)
    here = waiting(compiled.groups[1:3], 0, 0, ())
    (elsewhere,) = waiting(compiled.groups[3:4], -1, 0, ())
    first, rest = pick([*here, elsewhere], lambda each: each.group.name)

    spared = without_tried(first, rest, {1: {0}})

    assert {each.group.name: dict(each.struck) for each in spared} == {"b": {1: {0}}, "c": {}}
    assert needed_beside(first, rest, 1) == [2]
