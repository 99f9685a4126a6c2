"""A reviewer that knows of topologies and queues, and what an API server sends it."""

from __future__ import annotations

import msgspec
import yaml

from bench.large_pods import Json
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.kube.embedded.cluster import EmbeddedCluster

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
---
apiVersion: osmo.closeknit.dev/v1alpha1
kind: Pool
metadata: {{name: p}}
spec: {{topology_keys: [{{key: zone, label: zone}}, {{key: rack, label: rack}}]}}
"""


def sent(obj: Json, old: Json | None = None) -> bytes:
    """The body in which an API server asks about this object."""
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
