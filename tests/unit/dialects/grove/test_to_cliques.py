"""The PodCliques and PodCliqueScalingGroups that Grove makes of a PodCliqueSet."""

from __future__ import annotations

from closeknit.dialects.grove.to_cliques import to_cliques
from tests.unit.dialects.grove.sets import (
    SERVING,
    made,
    pod_spec,
)


def test_names_of_cliques_and_scaling_groups() -> None:
    found = [(each["kind"], each["metadata"]["name"]) for each in to_cliques(made(SERVING))]

    assert found == [
        ("PodCliqueScalingGroup", "srv-0-pre"),
        ("PodClique", "srv-0-router"),
        ("PodClique", "srv-0-pre-0-lead"),
        ("PodClique", "srv-0-pre-0-work"),
        ("PodClique", "srv-0-pre-1-lead"),
        ("PodClique", "srv-0-pre-1-work"),
        ("PodClique", "srv-0-pre-2-lead"),
        ("PodClique", "srv-0-pre-2-work"),
    ]


def test_a_clique_of_a_scaled_gang_names_its_group_its_gang_and_the_base_gang() -> None:
    found = {each["metadata"]["name"]: each for each in to_cliques(made(SERVING))}["srv-0-pre-2-work"]

    assert found["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "srv",
        "app.kubernetes.io/name": "srv-0-pre-2-work",
        "app.kubernetes.io/component": "pcsg-podclique",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podcliquescalinggroup": "srv-0-pre",
        "grove.io/podcliquescalinggroup-replica-index": "2",
        "grove.io/podgang": "srv-0-pre-1",
        "grove.io/base-podgang": "srv-0",
    }
    assert found["spec"] == {"roleName": "work", "replicas": 3, "minAvailable": 2, "podSpec": pod_spec()}
