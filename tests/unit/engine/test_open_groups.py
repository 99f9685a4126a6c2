"""Groups that wait for a domain: those alike as one, and what one of them tried is struck for its twins."""

from __future__ import annotations

from closeknit.engine import Engine
from closeknit.engine.compiled_request import CompiledRequest, Goal
from closeknit.engine.open_groups import needed_beside, pick, waiting, without_tried
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    b1
      r1
        x1: 4
      r2
        x2: 4
""")


ALIKE = (
    group("a", pods("p", 2), required="rack"),
    group("b", pods("q", 2), required="rack"),
    group("c", pods("r", 2), required="rack"),
    group("d", pods("s", 3), required="rack"),
)


def compile_members() -> CompiledRequest:
    return Engine(CLUSTER)._compile(request("w", *ALIKE), Goal.WISHES)


def test_groups_alike_wait_as_one_and_go_in_name_order() -> None:
    compiled = compile_members()
    open_groups = waiting(compiled.groups[1:], -1, 0, ())
    assert [(each.group.name, each.count) for each in open_groups] == [("a", 3), ("d", 1)]

    first, rest = pick(open_groups, lambda each: each.group.name)
    second, later = pick(rest, lambda each: each.group.name)

    assert (first.group.name, second.group.name) == ("a", "b")
    assert sorted((each.group.name, each.count) for each in later) == [("c", 1), ("d", 1)]
    assert needed_beside(first, rest, 1) == [2 * 2 + 3]


def test_what_a_group_has_been_through_is_struck_for_its_twins_only() -> None:
    compiled = compile_members()
    first, rest = pick(waiting(compiled.groups[1:], -1, 0, ()), lambda each: each.group.name)
    once = without_tried(first, rest, {1: {0}})
    twice = without_tried(first, once, {1: {1}})

    assert {each.group.name: dict(each.tried) for each in twice} == {"b": {1: {0, 1}}, "d": {}}


def test_twins_inside_another_domain_may_try_everything() -> None:
    compiled = compile_members()
    here = waiting(compiled.groups[1:3], 0, 0, ())
    (elsewhere,) = waiting(compiled.groups[3:4], -1, 0, ())
    first, rest = pick([*here, elsewhere], lambda each: each.group.name)

    spared = without_tried(first, rest, {1: {0}})

    assert {each.group.name: dict(each.tried) for each in spared} == {"b": {1: {0}}, "c": {}}
    assert needed_beside(first, rest, 1) == [2]
