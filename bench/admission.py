"""Processor time of one answer of the webhook to an object of 1 MB: ``python -m bench.admission``.

Reading the request, the review and writing the answer are counted; TLS and the network are not.
"""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any

import msgspec
import yaml

from closeknit.admission import wire
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.kube.embedded.cluster import EmbeddedCluster

Json = dict[str, Any]
_ROUNDS = 100
_LEVELS = "levels: [{nodeLabel: zone}, {nodeLabel: rack}]"
_QUOTA = "[{name: f, resources: [{name: cpu, nominalQuota: 100}]}]"
_DESCRIBED = f"""
{{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {{name: t}}, spec: {{{_LEVELS}}}}}
---
{{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding, metadata: {{name: g}}, spec: {{levels: [
  {{domain: zone, key: zone}}, {{domain: rack, key: rack}}]}}}}
---
{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {{name: t}}, spec: {{{_LEVELS}}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: f}}
spec: {{nodeLabels: {{a: b}}, topologyName: t}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: c}}
spec: {{namespaceSelector: {{}}, resourceGroups: [{{coveredResources: [cpu], flavors: {_QUOTA}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: q, namespace: default}}
spec: {{clusterQueue: c}}
"""


def _pods(variables: int) -> Json:
    env = [{"name": f"VARIABLE_{i}", "value": "x" * 40} for i in range(variables)]
    requests = {"requests": {"cpu": "1"}}
    return {"containers": [{"name": "main", "image": "busybox", "env": env, "resources": requests}]}


def _object(api_version: str, kind: str, spec: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "large", "namespace": "default", **metadata},
        "spec": spec,
    }


def _job() -> Json:
    template = {
        "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
        "spec": {**_pods(14_000), "restartPolicy": "Never"},
    }
    return _object(
        "batch/v1",
        "Job",
        {"suspend": True, "parallelism": 4, "completions": 4, "template": template},
        labels={"kueue.x-k8s.io/queue-name": "q"},
    )


def _set(cliques: int, variables: int) -> Json:
    made = [
        {
            "name": f"c{i}",
            "topologyConstraint": {"pack": {"required": "rack"}},
            "spec": {"roleName": f"c{i}", "replicas": 2, "minAvailable": 2, "podSpec": _pods(variables)},
        }
        for i in range(cliques)
    ]
    constraint = {"topologyName": "g", "pack": {"required": "zone"}}
    template = {"topologyConstraint": constraint, "cliques": made}
    return _object("grove.io/v1alpha1", "PodCliqueSet", {"replicas": 1, "template": template})


def _group() -> Json:
    each = {"topology": "t", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "rack"}
    subgroups = [{"name": f"subgroup-{i}", "minMember": 4, "topologyConstraint": each} for i in range(7_000)]
    return _object("scheduling.run.ai/v2alpha2", "PodGroup", {"subGroups": subgroups})


CASES = {
    "a Job whose pods have 14,000 variables": ("kueue", _job()),
    "a PodCliqueSet of 100 cliques": ("grove", _set(100, 140)),
    "a PodCliqueSet of 1,000 cliques": ("grove", _set(1_000, 12)),
    "a PodGroup of 7,000 subgroups": ("kai", _group()),
}


def _sent(obj: Json, old: Json | None) -> bytes:
    group, _, version = obj["apiVersion"].rpartition("/")
    request = {
        "uid": "u",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "operation": "UPDATE" if old else "CREATE",
        "namespace": "default",
        "name": "large",
        "userInfo": {"username": "somebody"},
        "object": obj,
        "oldObject": old,
    }
    return msgspec.json.encode({"request": request})


def reviewer() -> Reviewer:
    """A reviewer that has heard of all that the cases are measured by."""
    made = Reviewer(EmbeddedCluster())
    kinds: dict[tuple[str, str], Kind] = {
        (kind.group, kind.kind): kind for family in FAMILIES.values() for kind in family.describing
    }
    for obj in yaml.safe_load_all(_DESCRIBED):
        group = obj["apiVersion"].rpartition("/")[0]
        metadata = obj["metadata"]
        key = Key(group, obj["kind"], metadata.get("namespace", ""), metadata["name"])
        made.heard(kinds[group, obj["kind"]], obj["apiVersion"], key, obj)
    made.synced = True
    return made


async def _measured(asked: Reviewer, family: str, body: bytes) -> list[float]:
    times = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        gc.disable()
        uid, request = wire.read(body)
        review = await asked.review(family, request)
        wire.reviewed(uid, request, review)
        gc.enable()
        times.append(1000 * (time.process_time() - begin))
        assert review.allowed, [str(each) for each in review.problems]
    return sorted(times)


async def _main() -> None:
    asked = reviewer()
    for name, (family, obj) in CASES.items():
        for old in (None, obj):
            body = _sent(obj, old)
            times = await _measured(asked, family, body)
            print(
                f"{name}, {'changed' if old else 'new'}, {len(body) / 1e6:.1f} MB: median "
                f"{times[_ROUNDS // 2]:.1f} ms, p99 {times[_ROUNDS * 99 // 100]:.1f} ms of processor time"
            )


if __name__ == "__main__":
    asyncio.run(_main())
