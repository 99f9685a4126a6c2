"""Constraints in Grove's words: what is wrong with them is told where it was written, and they stay."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.problems import Meant, OneOf
from closeknit.hub.sentences import grove, wire
from closeknit.hub.workload import InvalidWorkload
from tests.kit.problems import Finding, finding
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.expected import (
    coarser,
    constraint_changed,
    unknown_domain,
    wrong_type,
)
from tests.unit.dialects.grove.sets import topology
from tests.unit.dialects.kit import forbidden_changes, reading, reported

WHOLE = "spec.providerOverride.value.spec.template.topologyConstraint"
OF_A = "spec.components[0].providerOverride.value.topologyConstraint"
OF_WORKERS = "spec.components[0].multinode.worker.providerOverride.value.topologyConstraint"
KIND = "DynamoGraphDeployment"
QUOTES = " Put it in quotes."


def over(value: Any) -> dict[str, Any]:
    return {"providerOverride": {"apiVersion": "grove.io/v1alpha1", "value": value}}


def whole(constraint: Any, *components: dict[str, Any]) -> str:
    value = {"spec": {"template": {"topologyConstraint": constraint}}}
    return graph(list(components) or [service("A")], version="v1beta1", **over(value))


def of_a(constraint: Any, **more: Any) -> str:
    return graph([service("A", **over({"topologyConstraint": constraint}), **more)], version="v1beta1")


def of_workers(constraint: Any) -> str:
    multinode = {"nodeCount": 2, "worker": over({"topologyConstraint": constraint})}
    return graph([service("A", multinode=multinode)], version="v1beta1")


def pack(name: str = "grove-topology", **words: str) -> dict[str, Any]:
    return {"topologyName": name, "pack": words}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            whole(["x"]),
            [wrong_type(WHOLE, "a list", "a mapping")],
            id="a list instead of a constraint",
        ),
        pytest.param(
            whole({"topologyName": 5, "pack": {"required": "rack"}}),
            [wrong_type(f"{WHOLE}.topologyName", "5, a number,", "a string", QUOTES)],
            id="a number instead of a name",
        ),
        pytest.param(
            of_a(7),
            [wrong_type(OF_A, "7, a number,", "a mapping")],
            id="a number instead of a component's constraint",
        ),
        pytest.param(
            of_workers("rack"),
            [wrong_type(OF_WORKERS, '"rack", a string,', "a mapping")],
            id="a string instead of the workers' constraint",
        ),
        pytest.param(
            whole({"topologyName": "grove-topology", "pck": {"required": "rack"}}),
            [
                finding(
                    wire.UNKNOWN_FIELD,
                    f"{WHOLE}.pck",
                    field="pck",
                    remedy=Meant("pck", ("pack", "packDomain", "topologyName")),
                )
            ],
            id="a misspelt field",
        ),
        pytest.param(
            whole({"packDomain": 1}, service("A", **over({"topologyConstraint": pack(required="hst")}))),
            [
                wrong_type(f"{WHOLE}.packDomain", "1, a number,", "a string", QUOTES),
                unknown_domain(f"{OF_A}.pack.required", "hst"),
            ],
            id="one that cannot be read hides no other",
        ),
        pytest.param(
            whole(pack(required="rak")),
            [unknown_domain(f"{WHOLE}.pack.required", "rak")],
            id="an unknown domain",
        ),
        pytest.param(
            whole(
                pack(required="rack"),
                service("A", **over({"topologyConstraint": {"pack": {"required": "zone"}}})),
            ),
            [coarser(f"{OF_A}.pack.required", "zone", "rack", f"{WHOLE}.pack.required")],
            id="a component that is too broad",
        ),
        pytest.param(
            of_workers(pack("other", required="rack")),
            [
                finding(
                    grove.NO_BINDING,
                    f"{OF_WORKERS}.topologyName",
                    name="other",
                    remedy=OneOf("other", ("grove-topology",)),
                )
            ],
            id="a topology that does not exist",
        ),
        pytest.param(
            of_a({"pack": {"required": "rack"}}, nodes=2),
            [finding(grove.TOPOLOGY_UNNAMED, f"{OF_A}.topologyName")],
            id="a topology that is not named, of a scaling group",
        ),
    ],
)
def test_an_override_is_told_where_it_was_written(text: str, want: list[Finding]) -> None:
    assert reported(topology(), text) == [replace(problem, where=f"2:{problem.where}") for problem in want]
    (workload,) = reading(topology(), text).workloads
    assert isinstance(workload, InvalidWorkload)


def test_that_a_topology_is_meant_is_told_once() -> None:
    assert reported(whole({"packDomain": "rack"})) == [
        finding(
            grove.NO_BINDING_MEANT,
            f"1:{WHOLE}.topologyName",
            name="grove-topology",
            remedy=OneOf("grove-topology", ()),
        )
    ]


RACK = pack(required="rack")


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            whole(RACK),
            whole(pack(required="zone")),
            [constraint_changed(f"{WHOLE}.pack.required", "required domain", '"rack"', '"zone"', KIND)],
            id="the domain of the whole",
        ),
        pytest.param(
            whole(RACK),
            whole(pack("other", required="rack")),
            [constraint_changed(f"{WHOLE}.topologyName", "topology", '"grove-topology"', '"other"', KIND)],
            id="the topology",
        ),
        pytest.param(
            whole(RACK),
            graph([service("A")], version="v1beta1"),
            [finding(grove.CONSTRAINT_ADDED_OR_REMOVED, WHOLE, done="removed from", kind=KIND)],
            id="removed",
        ),
        pytest.param(
            graph([service("A")], version="v1beta1"),
            of_a(RACK),
            [finding(grove.CONSTRAINT_ADDED_OR_REMOVED, OF_A, done="added to", kind=KIND)],
            id="added to a component",
        ),
        pytest.param(
            of_workers(pack(preferred="rack")),
            of_workers(pack(preferred="host")),
            [
                constraint_changed(
                    f"{OF_WORKERS}.pack.preferred", "preferred domain", '"rack"', '"host"', KIND
                )
            ],
            id="what the workers prefer",
        ),
        pytest.param(whole({"packDomain": "rack"}), whole(RACK), [], id="another spelling of the same"),
    ],
)
def test_an_override_stays(old: str, new: str, want: list[Finding]) -> None:
    assert forbidden_changes(KIND, old, new) == want
