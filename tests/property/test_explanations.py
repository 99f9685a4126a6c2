"""What an explanation proposes works, and what it says of the cluster is true."""

from __future__ import annotations

from hypothesis import assume, given

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.request import Group, Request, problems
from closeknit.testing import oracle
from closeknit.testing.relaxing import relaxed
from closeknit.testing.strategies import instances
from tests.property.effort import effort


@effort(120)
@given(instances())
def test_every_relaxation_applied_makes_the_request_placeable(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    outcome = Engine(cluster).solve(request)
    assume(isinstance(outcome, Unplaceable))
    assert isinstance(outcome, Unplaceable)

    for shortfall in outcome.shortfalls:
        for relaxation in shortfall.relaxations:
            easier, asked = relaxed(cluster, request, relaxation)
            topology = None if asked.topology is None else easier.topology(asked.topology)
            assert problems(asked, topology) == ()
            assert oracle.feasible(easier, asked), relaxation
            assert isinstance(Engine(easier).decide(asked), Placed), relaxation


@effort(100)
@given(instances())
def test_a_failure_names_groups_of_the_request_and_never_claims_that_they_fit(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance
    outcome = Engine(cluster).solve(request)
    assume(isinstance(outcome, Unplaceable))
    assert isinstance(outcome, Unplaceable)

    groups = {member.name for member, _ in request.root.walk() if isinstance(member, Group)}
    assert outcome.shortfalls
    for shortfall in outcome.shortfalls:
        assert shortfall.group in groups
        assert shortfall.fits == max((fit.fits for fit in shortfall.best), default=shortfall.fits)
        assert all(exclusion.nodes > 0 for exclusion in shortfall.excluded)
        assert sum(exclusion.nodes for exclusion in shortfall.excluded) <= len(cluster.nodes)
