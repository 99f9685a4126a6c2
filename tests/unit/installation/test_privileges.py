from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.installation.chart import generated
from closeknit.installation.privileges import GRANTS, READ, Component, Grant, allowed, page

CHART = Path(__file__).parents[3] / "deploy" / "chart"


def granted(component: Component, *families: str) -> list[Grant]:
    """What a component may do where only these families are managed."""
    return [each for each in GRANTS[component] if not each.family or each.family in families]


def test_the_chart_holds_what_follows_from_the_code() -> None:
    """``make deploy`` writes it."""
    found = {str(file.relative_to(CHART)): file.read_text() for file in (CHART / "generated").rglob("*.*")}

    assert found == generated()


def test_the_page_lists_every_rule_with_its_call() -> None:
    """``make deploy`` writes it."""
    assert (CHART.parents[1] / "docs" / "reference" / "privileges.md").read_text() == page()


@pytest.mark.parametrize("component", Component)
def test_nothing_is_granted_wholesale(component: Component) -> None:
    for grant in GRANTS[component]:
        assert "*" not in {grant.group, *grant.resources, *grant.verbs}
        if grant.resources == ("secrets",):
            assert grant.local
            assert grant.verbs == ("create",) or grant.names
        assert not {"escalate", "bind", "impersonate"} & set(grant.verbs)


@pytest.mark.parametrize(
    ("component", "verb", "group", "resource"),
    [
        pytest.param(Component.SCHEDULER, "create", "", "pods", id="the scheduler makes no pods"),
        pytest.param(
            Component.SCHEDULER, "delete", "", "pods", id="the scheduler evicts, and deletes nothing"
        ),
        pytest.param(Component.CONTROLLERS, "create", "", "pods/binding", id="controllers bind nothing"),
        pytest.param(Component.ADMISSION, "list", "", "pods", id="admission sees no pods"),
        pytest.param(Component.ADMISSION, "patch", "batch", "jobs", id="admission writes no workloads"),
        pytest.param(Component.CONTROLLERS, "get", "", "secrets", id="controllers read no secrets"),
        pytest.param(Component.MAP, "get", "", "secrets", id="the map reads no secrets"),
    ],
)
def test_what_a_component_may_not_do(component: Component, verb: str, group: str, resource: str) -> None:
    assert not allowed(component, verb, group, resource)


@pytest.mark.requirement("D32")
@pytest.mark.parametrize("resource", ["clustertopologies", "clustertopologybindings"])
def test_dynamo_only_reads_topologies(resource: str) -> None:
    verbs = {
        verb
        for grant in granted(Component.CONTROLLERS, "dynamo")
        if grant.group == "grove.io"
        for verb in grant.verbs
        if {resource, f"{resource}/status"} & set(grant.resources)
    }

    assert verbs == set(READ)


def test_a_family_that_is_external_is_read_and_only_what_it_leaves_to_us_is_written() -> None:
    for grant in granted(Component.CONTROLLERS):
        own = grant.group in ("", "events.k8s.io", "coordination.k8s.io")
        # Grove leaves the status of its PodGangs to the scheduler.
        left = grant.resources == ("podgangs/status",)
        assert own or left or set(grant.verbs) <= set(READ), grant


def test_the_map_reads_and_never_writes() -> None:
    assert {grant.verbs for grant in GRANTS[Component.MAP]} == {READ}
