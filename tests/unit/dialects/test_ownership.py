"""Pods that several families claim, and pods that no family claims."""

from __future__ import annotations

import json

import pytest

from closeknit.hub.cluster import Holding
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import kai
from tests.kit.problems import Finding, finding
from tests.unit.dialects.grove import sets
from tests.unit.dialects.kit import held, pod, pod_group, reading, reported
from tests.unit.dialects.kueue import kit as kueue
from tests.unit.dialects.osmo import kit as osmo
from tests.unit.dialects.test_disambiguation import GPU, KUEUE, MANAGED, PLAIN_QUEUES, node, requests

STRAY = finding(
    kai.NO_SUCH_POD_GROUP,
    "1:metadata.annotations.pod-group-name",
    group="g",
    namespace="default",
    allowed=OneOf.among("g", []),
)


@pytest.mark.parametrize(
    ("others", "labels", "annotations", "strays"),
    [
        pytest.param(
            [],
            {},
            {},
            [STRAY],
            id="a pod of nobody's is a stray",
        ),
        pytest.param(
            [sets.pod_clique_set(sets.clique("w"), name="served")],
            {**MANAGED, "app.kubernetes.io/part-of": "served", "grove.io/podclique": "served-0-w"},
            {},
            [],
            id="a pod of a PodCliqueSet is none",
        ),
        pytest.param(
            [*KUEUE],
            {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/pod-group-name": "batch"},
            {"kueue.x-k8s.io/pod-group-total-count": "1"},
            [],
            id="a pod that queues in Kueue is none",
        ),
    ],
)
def test_a_pod_that_another_family_claims_is_no_stray(
    others: list[str], labels: dict[str, str], annotations: dict[str, str], strays: list[Finding]
) -> None:
    given = json.loads(pod("p", "g"))
    given["metadata"]["labels"] = labels
    given["metadata"]["annotations"].update(annotations)

    assert reported(json.dumps(given), *others) == strays


def test_a_pod_of_a_workflow_whose_pod_group_is_still_to_come_is_no_stray() -> None:
    given = (osmo.pool(), osmo.workflow(["a"]))
    (made,) = (each for each in osmo.objects(*given) if each["kind"] == "Pod")

    assert reported(*given, json.dumps(made)) == []


def test_a_pod_that_names_a_pod_group_which_is_not_there_belongs_to_who_else_claims_it() -> None:
    given = json.loads(kueue.queued_pod("p", "batch", total=1))
    given["metadata"]["annotations"]["pod-group-name"] = "gone"
    given["spec"]["nodeName"] = "n"
    found = reading(node("n"), *PLAIN_QUEUES, json.dumps(given))

    assert requests(found) == {"Pod": "default/batch"}
    assert tuple(held(found)) == (Holding("default/batch", "n", GPU),)


def test_a_pod_that_two_families_claim_for_what_is_there_belongs_to_the_pod_group() -> None:
    given = json.loads(kueue.queued_pod("p", "batch", total=1))
    given["metadata"]["annotations"]["pod-group-name"] = "g"
    given["spec"]["nodeName"] = "n"
    found = reading(node("n"), *PLAIN_QUEUES, pod_group({}), json.dumps(given))

    assert requests(found) == {"PodGroup": "default/g"}
    assert tuple(held(found)) == (Holding("default/g", "n", GPU),)
