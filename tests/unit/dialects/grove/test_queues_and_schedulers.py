"""What a set says of its queue and its scheduler: judged alike whether it is validated or translated."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from closeknit.dialects import Source, translate
from closeknit.engine import Engine
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, grove, kai
from closeknit.scheduler.planning import plan
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.expected import minimum_out_of_range
from tests.unit.dialects.grove.sets import clique, group, pod_clique_set, pod_spec, topology
from tests.unit.dialects.kit import reading, reported

QUEUES = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: all}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team}
spec: {parentQueue: all}
"""
LABEL = "kai.scheduler/queue"
QUEUE_ANNOTATION = '1:metadata.annotations["nvidia.com/kai-scheduler-queue"]'


def queued(*names: str, own: str = "", scheduler: str = "kai-scheduler") -> str:
    cliques = [
        {
            **clique(f"c{i}", podSpec=pod_spec(schedulerName=scheduler)),
            "labels": {LABEL: name} if name else {},
        }
        for i, name in enumerate(names)
    ]
    return pod_clique_set(*cliques, metadata={"labels": {LABEL: own} if own else {}})


def queue_label(of: str) -> str:
    """The path of the label that names a queue."""
    return f'1:{of}.labels["{LABEL}"]'


def unknown_queue(where: str, name: str) -> Finding:
    return finding(core.NOT_FOUND, where, kind="Queue", name=name, remedy=OneOf(name, ("team",)))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(queued("", own="team"), [], id="a queue on the set"),
        pytest.param(queued("team", ""), [], id="a queue on a clique"),
        pytest.param(
            queued(""),
            [finding(kai.NO_QUEUE_NAMED, queue_label("metadata"), allowed=OneOf("", ("team",)))],
            id="none is named",
        ),
        pytest.param(
            queued("", "nope"),
            [unknown_queue(queue_label("spec.template.cliques[1]"), "nope")],
            id="one that does not exist",
        ),
        pytest.param(
            queued("", own="all"),
            [
                finding(
                    kai.QUEUE_WITH_CHILDREN,
                    queue_label("metadata"),
                    queue="all",
                    allowed=OneOf("", ("team",)),
                )
            ],
            id="one with queues below it",
        ),
        pytest.param(
            queued("team", "all"),
            [finding(grove.QUEUES_DIFFER, "1:metadata.labels", queues=("team", "all"))],
            id="cliques in different queues",
        ),
        pytest.param(
            queued("all", own="team"),
            [finding(grove.CLIQUE_QUEUE, "1:spec.template.cliques[0].labels", own="team", queue="all")],
            id="a clique in another queue than the set",
        ),
        pytest.param(
            graph({"w": service()}, metadata={"annotations": {"nvidia.com/kai-scheduler-queue": "nope"}}),
            [unknown_queue(QUEUE_ANNOTATION, "nope")],
            id="a deployment in a queue that does not exist",
        ),
        pytest.param(
            graph({"w": service()}),
            [unknown_queue(QUEUE_ANNOTATION, "dynamo")],
            id="a deployment in the queue that is meant where none is named",
        ),
    ],
)
def test_queues(text: str, want: list[Finding]) -> None:
    translated = translate([Source("f", f"{text}\n---\n{QUEUES}".encode())], "kai")

    assert reported(text, QUEUES) == want
    assert findings(translated.problems) == want
    # What is written of a sound one is sound to who wrote it.
    if not want:
        assert reported(*(yaml.safe_dump(each) for each in translated.objects), QUEUES) == []


def test_another_scheduler_knows_no_queues_and_only_a_translation_to_kai_asks_for_one() -> None:
    text = queued("", scheduler="default-scheduler")
    translated = translate([Source("f", f"{text}\n---\n{QUEUES}".encode())], "kai")
    assert (reported(text, QUEUES), [each.problem.code.name for each in translated.problems]) == (
        [],
        ["no-queue-named"],
    )


def operator(**scheduler: Any) -> str:
    kind = {"apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration"}
    return json.dumps({**kind, "scheduler": scheduler})


ONLY_KAI = operator(profiles=[{"name": "kai-scheduler"}])


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param((queued("", scheduler="volcano"),), [], id="nothing says which schedulers are enabled"),
        pytest.param((queued("", scheduler="kai-scheduler"), ONLY_KAI), [], id="a scheduler that is enabled"),
        pytest.param(
            (queued("", scheduler="default-scheduler"), ONLY_KAI), [], id="Kubernetes' own always is"
        ),
        pytest.param(
            (queued("", scheduler="volcano"), ONLY_KAI),
            [
                finding(
                    grove.SCHEDULER_NOT_ENABLED,
                    "1:spec.template.cliques[0].spec.podSpec.schedulerName",
                    name="volcano",
                    remedy=OneOf("volcano", ("default-scheduler", "kai-scheduler")),
                )
            ],
            id="a scheduler that is not enabled",
        ),
        *(
            pytest.param(
                (pod_clique_set(clique("a"), terminationDelay=delay),),
                [finding(grove.TERMINATION_DELAY, "1:spec.template.terminationDelay", found=delay)],
                id=f"a delay of {delay}",
            )
            for delay in ("0", "0s", "-1h", "soon")
        ),
        pytest.param((pod_clique_set(clique("a"), terminationDelay="1h30m"),), [], id="a delay above zero"),
        *(
            pytest.param(
                (pod_clique_set(clique("a"), metadata={"annotations": {"grove.io/mnnvl-group": name}}),),
                [
                    finding(
                        grove.NOT_AN_MNNVL_GROUP, '1:metadata.annotations["grove.io/mnnvl-group"]', value=name
                    )
                ],
                id=f"an NVLink group called {name!r}",
            )
            for name in ("", "A_b")
        ),
        pytest.param(
            (
                pod_clique_set(
                    {**clique("a"), "annotations": {"grove.io/mnnvl-group": "none"}},
                    groups=[group("g", "a", annotations={"grove.io/mnnvl-group": "-"})],
                ),
            ),
            [
                finding(
                    grove.NOT_AN_MNNVL_GROUP,
                    '1:spec.template.podCliqueScalingGroups[0].annotations["grove.io/mnnvl-group"]',
                    value="-",
                )
            ],
            id="an NVLink group of a scaling group, and a clique that is in none",
        ),
        pytest.param(
            (
                pod_clique_set(
                    clique("a", minAvailable=2),
                    domain="rack",
                    topologyConstraint={"topologyName": "x", "pack": {"required": "rack"}},
                ),
            ),
            [
                minimum_out_of_range("1:spec.template.cliques[0].spec.minAvailable", 2, 1),
                finding(
                    grove.NO_BINDING,
                    "1:spec.template.topologyConstraint.topologyName",
                    name="x",
                    remedy=OneOf("x", ()),
                ),
            ],
            id="a missing topology is told beside other problems",
        ),
    ],
)
def test_rules(texts: tuple[str, ...], want: list[Finding]) -> None:
    assert reported(*texts) == want


def test_a_deployment_that_is_not_run_as_a_gang_is_told() -> None:
    text = graph({"w": service()}, metadata={"annotations": {"nvidia.com/enable-grove": "false"}})
    (workload,) = reading(text).workloads
    assert [note.code.name for note in workload.notes] == ["without-gangs"]


def node(name: str, rack: str) -> str:
    labels = {"t/rack": rack, "kubernetes.io/hostname": name}
    capacity = {"nvidia.com/gpu": "1", "pods": "9"}
    metadata = {"name": name, "labels": labels}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": capacity}}
    )


@pytest.mark.parametrize(
    ("hosts", "notes"),
    [
        pytest.param(2, ["held-across-gangs"], id="a scaled gang is left out for want of room in the rack"),
        pytest.param(3, [], id="all fit into the rack"),
    ],
)
def test_what_the_constraint_of_a_set_leaves_out_is_told(hosts: int, notes: list[str]) -> None:
    text = pod_clique_set(
        clique("a", 1), clique("b", 1), groups=[group("g", "b", replicas=2)], domain="rack", name="s"
    )
    nodes = [node(f"x{i}", "r1") for i in range(hosts)] + [node("y", "r2")]
    found = reading(text, topology({"rack": "t/rack", "host": "kubernetes.io/hostname"}), *nodes)
    (verdict,) = plan(Engine(found.cluster), found.cluster, found.workloads)
    assert [note.code.name for note in verdict.notes] == notes


def test_kais_topology_is_owned_by_the_topology_that_it_is_made_of() -> None:
    given = json.loads(topology({"rack": "t/rack"}, name="t"))
    given["metadata"]["uid"] = "u-1"
    (made,) = translate([Source("f", json.dumps(given).encode())], "kai").objects
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "ClusterTopology",
        "t",
        "u-1",
        True,
    )
