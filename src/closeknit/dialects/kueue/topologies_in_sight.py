"""The topologies by which Kueue's workloads are placed: those given, or else the levels asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.dialects.assumed_topologies import Asked, with_assumed
from closeknit.dialects.compiling import described
from closeknit.dialects.core.naming import plain_name, shortened
from closeknit.dialects.family import Described
from closeknit.dialects.kueue.compile import queued_keys, queued_workload
from closeknit.dialects.kueue.made_workloads import MADE
from closeknit.dialects.kueue.topologies import to_topology, topology_problems
from closeknit.dialects.kueue.topology_request import TopologyRequest
from closeknit.dialects.store.view import View
from closeknit.hub.topology import HOSTNAME, Level

QUEUED: tuple[type[Any], ...] = (Job, JobSet, *MADE, Pod, wire.Workload)
"""The shapes of what queues, in the order in which it is looked at and written."""
_LONGEST = 63


def topologies(view: View) -> Described:
    """All topologies without problems, and the problems of the others."""
    found = described(view, wire.Topology, topology_problems, to_topology)
    return with_assumed(view, found, (wire.Topology,), _asked_for(view))


def _asked_for(view: View) -> Iterator[Asked]:
    """The levels of all that queues. No workload names its topology, so it is called after them."""
    for shape in QUEUED:
        for stored in view.of(shape):
            for key in queued_keys(stored, view):
                queued = view.derive(queued_workload, key)
                requests = [each.request for each in queued.pod_sets] if queued is not None else []
                labels = list(dict.fromkeys(label for each in requests for label in _labels(each)))
                name = shortened(plain_name("-".join(labels)), _LONGEST)
                for each in requests:
                    yield Asked(name, tuple(map(Level, _labels(each))))


def _labels(request: TopologyRequest) -> list[str]:
    labels = [level for _, level in request.levels()] + [layer.level for layer in request.layers]
    # The word auto stands for the lowest level.
    return labels or ([HOSTNAME] if request.names_levels else [])
