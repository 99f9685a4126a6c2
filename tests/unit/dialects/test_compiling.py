"""The topologies that a family knows: its own, those it borrows, then all others."""

from __future__ import annotations

from tests.unit.dialects.kit import pod_group, reading
from tests.unit.dialects.kueue import kit as kueue
from tests.unit.dialects.test_disambiguation import KUEUE, binding, close, levels


def test_where_kai_has_none_it_has_what_groves_operator_makes_of_a_binding() -> None:
    found = reading(
        binding(rack="grove/rack"),
        *KUEUE,
        pod_group({"minMember": 2, **close("rack")}),
        kueue.job(2, podset_required_topology="kueue/rack"),
    )

    assert levels(found) == {"PodGroup": ("grove/rack",), "Job": ("kueue/block", "kueue/rack")}


def test_where_nobody_nearer_has_one_a_topology_of_any_family_will_do() -> None:
    found = reading(KUEUE[0], pod_group({"minMember": 2, **close("kueue/rack")}))

    assert levels(found) == {"PodGroup": ("kueue/block", "kueue/rack")}
    assert [each.name for each in found.cluster.topologies] == ["default"]
