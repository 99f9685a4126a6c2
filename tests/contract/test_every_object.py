"""Every object that any example or random request becomes is taken by a strict server.

Judged by the definitions that other projects publish; an unknown field fails.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from closeknit.dialects import DIALECTS, TARGETS, Family, Source, translate
from closeknit.dialects.grove.legacy_spelling import in_legacy_spelling
from closeknit.hub.copying import replace
from closeknit.hub.problems import InvalidError
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.testing.random_requests import random_instance
from tests.contract.definitions import PROJECTS, ROOT
from tests.contract.objects import faults

EXAMPLES = ROOT / "examples"
FOLDERS = sorted({path.parent for path in EXAMPLES.rglob("*.yaml")})
FAMILY = {"podgang": "grove", "pods": "kai", "alpha8": "grove"}
"""Targets that are no family, and the one whose words lead to them."""
WAYS = (*TARGETS, "alpha8")
"""Every target, and Grove's as it was in v0.1.0-alpha.8."""
A_FEW = 200
MANY = 2000


def speaks(way: str) -> Family:
    family = FAMILY.get(way, way)
    return next(one for one in DIALECTS if one.name == family)


def translated(sources: list[Source], way: str) -> list[dict[str, Any]]:
    if way == "alpha8":
        return in_legacy_spelling(translate(sources, "grove").objects, [])
    return list(translate(sources, way).objects)


def sources_of(folder: Path) -> list[Source]:
    files = [*folder.glob("*.yaml"), *folder.glob("*.json")]
    return [Source(path.name, path.read_bytes()) for path in sorted(files)]


def requests(seeds: range) -> Iterator[tuple[PlaceableWorkload, dict[str, Any]]]:
    """Random workloads, nothing of which runs yet, with the topologies that they speak of."""
    for seed in seeds:
        cluster, request = random_instance(Random(seed))
        request = replace(request, name=f"default/train-{seed}")
        name = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "default", f"train-{seed}")
        yield PlaceableWorkload(name, "kai", request), {each.name: each for each in cluster.topologies}


def refused(written: list[dict[str, Any]], way: str) -> list[str]:
    return [fault for each in written for fault in faults(each, earlier_grove=way == "alpha8")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(EXAMPLES).as_posix())
def test_what_an_example_becomes_is_accepted(folder: Path, way: str) -> None:
    assert refused(translated(sources_of(folder), way), way) == []


def in_todays_spelling(document: dict[str, Any]) -> bool:
    """Whether an example is written as its project takes it today; the proposals' own words are older."""
    text = json.dumps(document)
    older = ('"subgroups"', '"packDomain"', '"kai.scheduler/v1"', '"ClusterTopology"')
    return document["apiVersion"].rpartition("/")[0] in PROJECTS and not any(word in text for word in older)


def test_examples_in_todays_spelling_are_accepted_as_they_stand() -> None:
    kinds = Counter[str]()
    for folder in FOLDERS:
        if folder.name == "invalid":
            continue
        for path in sorted(folder.glob("*.yaml")):
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                if isinstance(document, dict) and "kind" in document and in_todays_spelling(document):
                    assert list(faults(document)) == [], path.relative_to(ROOT)
                    kinds[document["kind"]] += 1

    assert {"PodGroup", "Topology", "Queue", "ClusterQueue", "PodCliqueSet", "JobSet"} <= kinds.keys()


@pytest.mark.parametrize("way", WAYS)
def test_some_example_becomes_something(way: str) -> None:
    kinds = Counter(each["kind"] for folder in FOLDERS for each in translated(sources_of(folder), way))

    assert kinds


def said_in(way: str, workload: PlaceableWorkload, topologies: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a workload becomes; none where the target has no words for it."""
    express = speaks(way).express
    assert express is not None
    try:
        said = list(express(workload, topologies))
    except InvalidError:
        return []
    return in_legacy_spelling(said, []) if way == "alpha8" else said


def said(way: str, workload: PlaceableWorkload, topologies: dict[str, Any]) -> list[dict[str, Any]]:
    """The same for every target."""
    if way not in ("podgang", "pods"):
        return said_in(way, workload, topologies)
    # These are made of a manifest, as a user would; the pods themselves are yet to come.
    group = [each for each in said_in("kai", workload, topologies) if each["kind"] != "Pod"]
    text = "\n".join(json.dumps(each) for each in group)
    return list(translate([Source("said", text.encode())], way).objects)


def check_requests(way: str, seeds: range) -> None:
    seen = 0
    for workload, topologies in requests(seeds):
        written = said(way, workload, topologies)
        assert refused(written, way) == [], f"seed {workload.object.name}"
        seen += bool(written)
    # Kueue and Kubernetes' gangs know no trees, so they have words for about half of them.
    assert seen >= len(seeds) * (0.45 if way in ("kueue", "kubernetes") else 0.5), f"{seen} of {len(seeds)}"


@pytest.mark.parametrize("way", WAYS)
def test_what_random_requests_become_is_accepted(way: str) -> None:
    check_requests(way, range(A_FEW))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_many_random_requests_become_is_accepted(way: str) -> None:
    check_requests(way, range(A_FEW, A_FEW + MANY))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"spec": {"levels": []}}, "$.spec.levels: ", id="a list that is too short"),
        pytest.param(
            {"spec": {"levels": [{"nodeLabel": "a", "color": "b"}]}}, "color", id="an unknown field"
        ),
        pytest.param({"spec": None}, "null", id="a null"),
        pytest.param({"metadata": {"name": "A_B"}}, "is not a name", id="a name with capitals"),
        pytest.param({"metadata": {"name": "a", "labels": {"a": "b c"}}}, "label", id="a label with a space"),
        pytest.param({"apiVersion": "v1", "kind": "Secret"}, "nothing is published", id="an unknown kind"),
    ],
)
def test_the_judge_refuses(change: dict[str, Any], told: str) -> None:
    good = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "a"},
        "spec": {"levels": [{"nodeLabel": "topology/rack"}]},
    }

    assert list(faults(good)) == []
    assert any(told in fault for fault in faults({**good, **change}))


@pytest.mark.parametrize(
    ("kind", "spec", "told"),
    [
        pytest.param(
            "kai.scheduler/v1alpha1 Topology",
            {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "a"}]},
            "two levels have the same label",
            id="a label of two levels",
        ),
        pytest.param(
            "kueue.x-k8s.io/v1beta2 Topology",
            {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a"}]},
            "the hostname is not the last level",
            id="a level below the hostname",
        ),
        pytest.param(
            "kueue.x-k8s.io/v1beta2 ResourceFlavor",
            {"topologyName": "a"},
            "a flavor with a topology needs a node label",
            id="a flavor of all nodes",
        ),
        pytest.param(
            "v1 Pod",
            {"containers": [{"name": "a"}, {"name": "a"}]},
            "$.containers: two items have the same name",
            id="containers of one name",
        ),
        pytest.param(
            "v1 Pod",
            {"containers": [{"name": "a"}], "priority": 2**31},
            "$.priority: 2147483648 is too large",
            id="a number that is too large",
        ),
        pytest.param(
            "grove.io/v1alpha1 PodCliqueSet",
            {"replicas": 1, "template": {"cliques": [], "topologyConstraint": {"packDomain": "rack"}}},
            "packDomain is no longer taken",
            id="the earlier spelling",
        ),
    ],
)
def test_the_judge_knows_rules_beyond_the_schema(kind: str, spec: dict[str, Any], told: str) -> None:
    api_version, _, name = kind.partition(" ")
    written = {"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}, "spec": spec}

    assert any(told in fault for fault in faults(written))
