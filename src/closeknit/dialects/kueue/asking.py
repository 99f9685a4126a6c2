"""The wish of a pod set in today's words: on a Workload, and as annotations of a pod template."""

from __future__ import annotations

import json

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.apis.kueue_x_k8s_io_v1beta2 import PodSetTopologyRequest, SliceConstraint
from closeknit.dialects.kueue.batches import Batched
from closeknit.hub.topology import Topology


def topology_request(pod_set: Batched, topology: Topology | None) -> PodSetTopologyRequest | None:
    """The wish of a pod set in today's words; None where no topology is in play."""
    if topology is None:
        return None
    wish, each = pod_set.wish, pod_set.count // pod_set.replicas
    required = wish.required
    layers = [(layer.level, layer.size) for layer in wish.layers]
    if wish.early and required is not None and pod_set.replicas > 1 and each:
        # The early design means every Job by itself, which today is a slice.
        layers, required = [(required, each)], None
    preferred = wish.preferred_in(topology)
    single = layers[0] if len(layers) == 1 else None
    return PodSetTopologyRequest(
        required=required,
        preferred=preferred,
        unconstrained=None if required or preferred or layers else True,
        pod_index_label=pod_set.index_label,
        sub_group_index_label=pod_set.sub_index_label,
        sub_group_count=pod_set.replicas if pod_set.sub_index_label else None,
        pod_set_group_name=wish.group or None,
        pod_set_slice_required_topology=single[0] if single else None,
        pod_set_slice_size=single[1] if single else None,
        podset_slice_required_topology_constraints=[]
        if single
        else [SliceConstraint(topology=level, size=size) for level, size in layers],
    )


def todays_annotations(pod_set: Batched, topology: Topology | None) -> dict[str, str]:
    """The annotations of a pod template that ask for the same today."""
    asked = topology_request(pod_set, topology)
    if asked is None:
        return {}
    said = {
        keys.REQUIRED: asked.required,
        keys.PREFERRED: asked.preferred,
        keys.UNCONSTRAINED: "true" if asked.unconstrained and pod_set.wish.unconstrained else None,
        keys.SLICE_LEVEL: asked.pod_set_slice_required_topology,
        keys.SLICE_SIZE: str(asked.pod_set_slice_size) if asked.pod_set_slice_size else None,
        keys.GROUP: asked.pod_set_group_name,
    }
    if nested := asked.podset_slice_required_topology_constraints:
        said[keys.SLICE_LAYERS] = json.dumps([msgspec.to_builtins(layer) for layer in nested])
    return {key: value for key, value in said.items() if value is not None}
