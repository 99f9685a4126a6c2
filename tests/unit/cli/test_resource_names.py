"""Kinds as people type them."""

from __future__ import annotations

import pytest

from closeknit.cli.resource_names import resource_named, resources_named
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.sentences import cli
from closeknit.kube.resources import CORE_EVENTS, EVENTS, JOBS, NODES, PODS, Resource
from tests.kit.problems import finding, findings

KUEUE = Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False)


KAI = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False, short_names=("kt",))


SERVED = (
    PODS,
    NODES,
    CORE_EVENTS,
    EVENTS,
    JOBS,
    KAI,
    Resource("kai.scheduler", "v1", "topologies", "Topology"),
    KUEUE,
)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param("pods", [PODS], id="plural"),
        pytest.param("Pod", [PODS], id="kind"),
        pytest.param("po", [PODS], id="short name"),
        pytest.param("jobs.batch", [JOBS], id="with its group"),
        pytest.param("job.v1.batch", [JOBS], id="with its version and group"),
        pytest.param("events", [CORE_EVENTS], id="the core group wins"),
        pytest.param("events.events.k8s.io", [EVENTS], id="unless the other is named"),
        pytest.param("topologies", [KAI, KUEUE], id="all groups, each in its preferred version"),
        pytest.param("pod,kt,pods", [PODS, KAI], id="several, each once"),
        pytest.param("all", [PODS, JOBS], id="a category"),
    ],
)
def test_kinds_as_people_type_them(words: str, meant: list[Resource]) -> None:
    assert resources_named(words, SERVED, "the cluster") == meant


def test_where_one_is_needed_two_are_refused() -> None:
    with pytest.raises(InvalidError) as error:
        resource_named("topology", SERVED, "the cluster")

    names = "topologies.kai.scheduler, topologies.kueue.x-k8s.io"
    assert findings(error.value.problems) == [
        finding(cli.AMBIGUOUS_RESOURCE, "KIND", kind="topology", count=2, names=names)
    ]


def test_every_unknown_kind_is_told() -> None:
    with pytest.raises(InvalidError) as caught:
        resources_named("pdos,nodse", SERVED, "the cluster")

    known = [name for resource in SERVED for name in (resource.plural, resource.kind.lower())]
    assert findings(caught.value.problems) == [
        finding(
            cli.UNKNOWN_RESOURCE, "KIND", cluster="The cluster", kind=kind, remedy=OneOf.among(kind, known)
        )
        for kind in ("pdos", "nodse")
    ]
