"""What choices take and cost, and that taking them back leaves no trace."""

from __future__ import annotations

from closeknit.engine import Engine
from closeknit.engine.choices import Choices, Place
from closeknit.engine.compiled_request import CompiledRequest, Goal, GroupVar
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


def chosen(*members: Member) -> tuple[CompiledRequest, Choices, list[GroupVar]]:
    """Choices for the groups among the members of a request, none made yet."""
    engine = Engine(CLUSTER)
    compiled = engine._compile(request("w", *members), Goal.WISHES)
    return compiled, Choices(compiled, engine._ledger.free), compiled.groups[1:]


def counts(made: Choices) -> object:
    return (
        made.cost(closely=False),
        [made.loads.count(at, domain, 0) for at, domain in ((-1, 0), (0, 0), (1, 0), (1, 1))],
        [used.counts.tolist() for used in made.used],
        list(made.preferences),
        len(made.colors),
    )


def test_a_group_counts_where_it_goes_and_not_after_it_is_taken_back() -> None:
    _, made, (a, b) = chosen(
        group("a", pods("p", 2), required="rack"),
        group("b", pods("q", 3), required="block", preferred="rack"),
    )
    before = counts(made)
    rack, block = Place(-1, 1, 0, 0), Place(-1, 0, 0, 1)

    made.make(a, rack, ())
    made.make(b, block, ())
    # No pod left out; b is one level from its rack; one block and one rack are in use for certain.
    assert made.cost(closely=False) == [0, 0, 1, 0, 1, 1]
    assert made.loads.count(0, 0, 0) == 5
    assert made.loads.count(1, 0, 0) == 2
    made.unmake(b, block)
    made.unmake(a, rack)

    assert counts(made) == before


def test_a_group_that_needs_no_pod_uses_no_domain_for_certain() -> None:
    _, made, (a,) = chosen(group("a", pods("p", 2, minimum=0), required="rack"))

    made.make(a, Place(-1, 1, 0, 0), ())

    assert made.cost(closely=False) == [0, 0, 0, 0, 0, 0]
    assert made.touches(1, 0)


def test_a_group_that_shares_nothing_is_colored_while_it_stands() -> None:
    _, made, (a,) = chosen(group("a", pods("p", 2), preferred="rack"))
    nowhere = Place(-1, -1, 0, 2)

    colors = made.make(a, nowhere, ())
    assert colors == (0,)
    # Two levels above the rack, the cluster included; each rack it uses will count on top.
    assert made.preferences == [0, 2]
    made.unmake(a, nowhere)

    assert made.colors == []
    assert made.preferences == [0, 0]


def test_members_left_out_are_no_longer_asked_for() -> None:
    compiled, made, groups = chosen(group("a", pods("p", 9), required="rack"), group("b", pods("q", 2)))
    root = compiled.root
    before = counts(made)
    everywhere = Place(-1, -1, 0, 0)

    made.form(root, [groups[1]], 9, everywhere, 1)
    assert made.cost(closely=False)[0] == 9
    made.form(root, [groups[1]], 9, everywhere, -1)

    assert counts(made) == before
    # With all of them in, eleven pods are asked for and the cluster takes eight.
    assert made.cost(closely=False)[0] == 3
