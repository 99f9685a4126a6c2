"""Whatever is done to valid manifests, reading them ends in problems and never in an exception."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from closeknit.dialects import Reading, Source, read
from closeknit.hub import request as hub_request
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import TOPOLOGY, reading

VALID = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: team, creationTimestamp: "2025-01-31T12:00:00Z", annotations: {closeknit.dev/pod-resources: '{"cpu": 1}'}}
spec:
  minSubGroup: 1
  priorityClassName: train
  topologyConstraint: {topology: tree, requiredTopologyLevel: topology/zone, preferredTopologyLevel: block}
  subGroups:
  - {name: workers, minSubGroup: 1}
  - name: decode
    parent: workers
    minMember: 2
    topologyConstraint: {topology: tree, requiredTopologyLevel: topology/rack}
  - {name: prefill, parent: workers, minMember: 1}
  - {name: api, minMember: 1}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology/zone: a}}
spec: {unschedulable: false, taints: [{key: a, value: b, effect: NoSchedule}]}
status:
  allocatable: {cpu: "8", memory: 1.5Gi, nvidia.com/gpu: 8}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: p1
    namespace: team
    annotations: {pod-group-name: g}
    labels: {kai.scheduler/subgroup-name: decode}
    ownerReferences: [{kind: Job, name: j, controller: true}]
  spec:
    nodeName: n1
    containers: [{name: a, resources: {requests: {cpu: 500m}, limits: {nvidia.com/gpu: 1}}, ports: [{hostPort: 80}]}]
  status: {phase: Running}
- apiVersion: v1
  kind: Pod
  metadata: {name: p2, namespace: team, annotations: {pod-group-name: g}, labels: {kai.scheduler/subgroup-name: decode}}
  spec:
    containers: [{name: a}]
    initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}]
    overhead: {cpu: 1m}
    nodeSelector: {a: b}
    tolerations: [{key: a, operator: Exists, effect: NoSchedule}]
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}], matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]
        preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Gt, values: ["1"]}]}}]
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mine}, value: 5, globalDefault: true}
"""


def documents() -> list[Any]:
    return list(yaml.safe_load_all(f"{TOPOLOGY}\n---\n{VALID}"))


DOCUMENTS = documents()

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**30,
    1.5,
    -0.0,
    1e308,
    "",
    " ",
    "a",
    "g",
    "A_B",
    "-1",
    "1e999",
    "9" * 65,
    "workers",
    "decode",
    "topology/zone",
    "tree",
    "x" * 10_000,
    "\U0001f600",
    "\u2028",
    "\x1b[31m",
    {"\x1b[31m": "\x1b[31m"},
    "²",
    [],
    [[]],
    [None],
    {},
    {"": ""},
    {"a": None},
    [{"name": "a"}, {"name": "a"}],
]


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*path, key))


PLACES = list(places(DOCUMENTS))


def mutate(content: Any, path: tuple[str | int, ...], change: str, odd: Any) -> None:
    """Change the value at a path; one that an earlier change took away is left alone."""
    try:
        for step in path[:-1]:
            content = content[step]
        inner = content[path[-1]]
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(content, str):
        return
    last = path[-1]
    match change:
        case "delete":
            del content[last]
        case "replace":
            content[last] = copy.deepcopy(odd)
        case "rename" if isinstance(content, dict):
            content[f"{last}s"] = content.pop(last)
        case "repeat" if isinstance(content, list):
            content.append(copy.deepcopy(inner))
        case "wrap":
            content[last] = [inner]
        case _:
            content[last] = str(inner)


def sound(found: Reading) -> None:
    """What every reading promises, whatever was read."""
    places_of = {topology.name: topology for topology in found.cluster.topologies}
    names = [node.name for node in found.cluster.nodes]
    assert len(set(names)) == len(names)
    assert all(holding.node in names for holding in found.cluster.holdings)
    assert len({workload.object for workload in found.workloads}) == len(found.workloads)
    for problem in found.problems:
        assert problem.problem.message.endswith((".", "?", "…")), problem
        assert len(str(problem)) < 2000
        assert str(problem).isprintable(), problem
        assert problem.object is None or "".join(msgspec.structs.astuple(problem.object)).isprintable()
    for workload in found.workloads:
        assert isinstance(workload, PlaceableWorkload) or workload.problems
        if isinstance(workload, PlaceableWorkload):
            topology = places_of.get(workload.request.topology or "")
            assert hub_request.problems(workload.request, topology) == ()
            assert all(place in names for pods in workload.request.root.pod_sets() for place in pods.bound)


changes = st.tuples(
    st.sampled_from(PLACES),
    st.sampled_from(["delete", "replace", "replace", "rename", "repeat", "wrap", "stringify"]),
    st.sampled_from(ODD),
)


def test_the_manifests_are_valid_to_begin_with() -> None:
    found = reading(TOPOLOGY, VALID)

    assert [str(problem) for problem in found.problems] == []
    assert [isinstance(workload, PlaceableWorkload) for workload in found.workloads] == [True]
    sound(found)


@settings(max_examples=400)
@given(st.lists(changes, min_size=1, max_size=4), st.booleans())
def test_changed_manifests_never_raise(
    made: list[tuple[tuple[str | int, ...], str, Any]], lenient: bool
) -> None:
    content = copy.deepcopy(DOCUMENTS)
    for path, change, odd in made:
        mutate(content, path, change, odd)
    text = "\n".join(json.dumps(document) for document in content if isinstance(document, dict | list))

    sound(read([Source("f", text.encode())], lenient=lenient))


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{str(odd)[:20]!r} is put everywhere")
def test_every_place_takes_every_odd_value(odd: Any) -> None:
    rng = random.Random(0)
    for path in rng.sample(PLACES, 40):
        content = copy.deepcopy(DOCUMENTS)
        mutate(content, path, "replace", odd)
        text = "\n".join(json.dumps(document) for document in content if isinstance(document, dict | list))
        sound(read([Source("f", text.encode())]))


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.integers(1, 30), st.booleans())
def test_damaged_text_never_raises(seed: int, hits: int, lenient: bool) -> None:
    rng = random.Random(seed)
    text = bytearray(f"{TOPOLOGY}\n---\n{VALID}".encode())
    for _ in range(hits):
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                del text[at : at + rng.randrange(1, 20)]
            case 1:
                text[at:at] = rng.choice(
                    [b"\t", b"[", b"}", b"&a ", b"*a ", b"<<: ", b"\xff", b"!!", b"'", b"\n---\n", b"- "]
                )
            case 2:
                text[at] = rng.randrange(256)
            case _:
                text[at:at] = text[: rng.randrange(200)]

    sound(read([Source("f", bytes(text))], lenient=lenient))


@settings(max_examples=300)
@given(st.binary(max_size=200))
@example(b"&a [*a]")
@example(b'{"kind": "List", "items": [{"kind": "List", "items": []}]}')
@example(b"{apiVersion: /, kind: /}")
def test_any_bytes_never_raise(content: bytes) -> None:
    sound(read([Source("f", content)]))
