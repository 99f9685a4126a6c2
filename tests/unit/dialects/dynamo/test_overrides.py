"""Constraints in Grove's words: what is wrong with them is told where it was written, and they stay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.sets import topology
from tests.unit.dialects.kit import changes, problems, reading

WHOLE = "spec.providerOverride.value.spec.template.topologyConstraint"
OF_A = "spec.components[0].providerOverride.value.topologyConstraint"
OF_WORKERS = "spec.components[0].multinode.worker.providerOverride.value.topologyConstraint"
ALLOWED = 'Allowed: "block", "host", "rack", "zone".'
AGAIN = "Delete the DynamoGraphDeployment and create it anew."


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
            [f"{WHOLE}: Found a list where a mapping is expected."],
            id="a list instead of a constraint",
        ),
        pytest.param(
            whole({"topologyName": 5, "pack": {"required": "rack"}}),
            [f"{WHOLE}.topologyName: Found 5, a number, where a string is expected. Put it in quotes."],
            id="a number instead of a name",
        ),
        pytest.param(
            of_a(7),
            [f"{OF_A}: Found 7, a number, where a mapping is expected."],
            id="a number instead of a component's constraint",
        ),
        pytest.param(
            of_workers("rack"),
            [f'{OF_WORKERS}: Found "rack", a string, where a mapping is expected.'],
            id="a string instead of the workers' constraint",
        ),
        pytest.param(
            whole({"topologyName": "grove-topology", "pck": {"required": "rack"}}),
            [f'{WHOLE}.pck: There is no field "pck" here. Did you mean "pack"?'],
            id="a misspelt field",
        ),
        pytest.param(
            whole({"packDomain": 1}, service("A", **over({"topologyConstraint": pack(required="hst")}))),
            [
                f"{WHOLE}.packDomain: Found 1, a number, where a string is expected. Put it in quotes.",
                f'{OF_A}.pack.required: Topology "grove-topology" has no domain "hst". Did you mean "host"? {ALLOWED}',
            ],
            id="one that cannot be read hides no other",
        ),
        pytest.param(
            whole(pack(required="rak")),
            [
                f'{WHOLE}.pack.required: Topology "grove-topology" has no domain "rak". Did you mean "rack"? {ALLOWED}'
            ],
            id="an unknown domain",
        ),
        pytest.param(
            whole(
                pack(required="rack"),
                service("A", **over({"topologyConstraint": {"pack": {"required": "zone"}}})),
            ),
            [
                f'{OF_A}.pack.required: "zone" is coarser than "rack", which {WHOLE}.pack.required names.'
                ' Name "rack" or a finer domain, or leave it out.'
            ],
            id="a component that is too broad",
        ),
        pytest.param(
            of_workers(pack("other", required="rack")),
            [
                f'{OF_WORKERS}.topologyName: There is no ClusterTopologyBinding "other". Allowed: "grove-topology".'
            ],
            id="a topology that does not exist",
        ),
        pytest.param(
            of_a({"pack": {"required": "rack"}}, nodes=2),
            [
                f"{OF_A}.topologyName: The topology whose domains are meant is missing, and there is none to inherit."
                " Write the name of a ClusterTopologyBinding."
            ],
            id="a topology that is not named, of a scaling group",
        ),
    ],
)
def test_an_override_is_told_where_it_was_written(text: str, want: list[str]) -> None:
    assert problems(topology(), text) == [f"2:{each}" for each in want]
    (workload,) = reading(topology(), text).workloads
    assert workload.request is None


def test_that_a_topology_is_meant_is_told_once() -> None:
    assert problems(whole({"packDomain": "rack"})) == [
        f'1:{WHOLE}.topologyName: There is no ClusterTopologyBinding "grove-topology".'
        " It is meant where no topology is named. None is given; add it, or name none."
    ]


RACK = pack(required="rack")


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            whole(RACK),
            whole(pack(required="zone")),
            [f'{WHOLE}.pack.required: The required domain cannot change from "rack" to "zone". {AGAIN}'],
            id="the domain of the whole",
        ),
        pytest.param(
            whole(RACK),
            whole(pack("other", required="rack")),
            [f'{WHOLE}.topologyName: The topology cannot change from "grove-topology" to "other". {AGAIN}'],
            id="the topology",
        ),
        pytest.param(
            whole(RACK),
            graph([service("A")], version="v1beta1"),
            [f"{WHOLE}: A constraint cannot be removed from what exists. {AGAIN}"],
            id="removed",
        ),
        pytest.param(
            graph([service("A")], version="v1beta1"),
            of_a(RACK),
            [f"{OF_A}: A constraint cannot be added to what exists. {AGAIN}"],
            id="added to a component",
        ),
        pytest.param(
            of_workers(pack(preferred="rack")),
            of_workers(pack(preferred="host")),
            [
                f'{OF_WORKERS}.pack.preferred: The preferred domain cannot change from "rack" to "host". {AGAIN}'
            ],
            id="what the workers prefer",
        ),
        pytest.param(whole({"packDomain": "rack"}), whole(RACK), [], id="another spelling of the same"),
    ],
)
def test_an_override_stays(old: str, new: str, want: list[str]) -> None:
    assert changes("DynamoGraphDeployment", old, new) == want
