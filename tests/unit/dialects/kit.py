"""Short ways to read manifests in tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from closeknit.dialects import DIALECTS, Reading, Source, read
from closeknit.dialects.family import Status
from closeknit.dialects.reading import load
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Neighbour
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, findings

TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: tree}
spec:
  levels:
  - {nodeLabel: topology/zone}
  - {nodeLabel: topology/block, alias: block}
  - {nodeLabel: topology/rack}
"""


def reading(*texts: str, lenient: bool = False) -> Reading:
    """Read YAML texts as one file."""
    text = "\n---\n".join(dedent(text) for text in texts)
    return read([Source("f", text.encode())], lenient=lenient)


def problems(*texts: str, lenient: bool = False) -> list[str]:
    """The problems as lines ``document:path: message``, without the name of the file."""
    return [str(found).removeprefix("f:") for found in reading(*texts, lenient=lenient).problems]


def reported(*texts: str, lenient: bool = False) -> list[Finding]:
    """The problems by document, path, code and facts."""
    return findings(reading(*texts, lenient=lenient).problems)


def request(*texts: str, lenient: bool = False) -> Request:
    """The request of the only workload, which must be without problems."""
    found = reading(*texts, lenient=lenient)
    assert [str(problem) for problem in found.problems] == []
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    return unseen(workload.request)


def unseen(request: Request) -> Request:
    """The same without what other pods see of its pods."""
    return replace(request, root=request.root.mapped(lambda pods: replace(pods, neighbour=Neighbour())))


def held(reading: Reading) -> list[Holding]:
    """What pods hold, without what other pods see of them."""
    return [replace(each, neighbour=Neighbour()) for each in reading.cluster.holdings]


def close(required: str = "", preferred: str = "", topology: str = "tree") -> dict[str, Any]:
    """The ``topologyConstraint`` of a PodGroup."""
    levels = {"requiredTopologyLevel": required, "preferredTopologyLevel": preferred}
    return {"topology": topology, **{field: level for field, level in levels.items() if level}}


def pod_group(spec: Mapping[str, Any], name: str = "g", **metadata: Any) -> str:
    """A PodGroup as JSON, which is YAML as well."""
    return json.dumps(
        {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
    )


def node(name: str, **allocatable: Any) -> str:
    """A node as JSON."""
    status = {"allocatable": allocatable or {"nvidia.com/gpu": "8"}}
    return json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status})


def pod(name: str, group: str = "", subgroup: str = "", phase: str = "", gpus: int = 1, **spec: Any) -> str:
    """A pod with one container as JSON."""
    annotations = {"pod-group-name": group} if group else {}
    labels = {"kai.scheduler/subgroup-name": subgroup} if subgroup else {}
    containers = [{"name": "main", "resources": {"requests": {"nvidia.com/gpu": gpus}}}]
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations, "labels": labels},
            "spec": {"containers": containers, **spec},
            "status": {"phase": phase} if phase else {},
        }
    )


def view(*texts: str, lenient: bool = False) -> View:
    """The objects of YAML texts in a store, which must be without problems of shape."""
    source = Source("f", "\n---\n".join(dedent(text) for text in texts).encode())
    loaded = load(DIALECTS, [source], lenient=lenient)
    assert [str(problem) for problem in loaded.problems] == []
    return loaded.view


def only(seen: View, kind: str) -> Stored[Any]:
    """The only object of a kind in a store."""
    shapes = {each.shape for family in DIALECTS for each in family.kinds if each.kind == kind}
    (found,) = (stored for shape in shapes for stored in seen.of(shape))
    return found


def status(kind: str, *texts: str) -> Status:
    """The status of the only object of a kind."""
    seen = view(*texts)
    stored = only(seen, kind)
    (tell,) = (each.status[stored.shape] for each in DIALECTS if stored.shape in each.status)
    return tell(stored, seen)


def changes(kind: str, old: str, new: str) -> list[str]:
    """What may not change from one object to another of its kind."""
    before, seen = only(view(old), kind), view(new)
    after = only(seen, kind)
    (compare,) = (each.update[after.shape] for each in DIALECTS if after.shape in each.update)
    return [str(problem) for problem in compare(before, after, seen)]


def forbidden_changes(kind: str, old: str, new: str) -> list[Finding]:
    """The problems of an update from one object to another of its kind."""
    before, seen = only(view(old), kind), view(new)
    after = only(seen, kind)
    (compare,) = (each.update[after.shape] for each in DIALECTS if after.shape in each.update)
    return findings(compare(before, after, seen))


def stored(of: View, shape: type[Any]) -> Stored[Any]:
    """The only object of this shape."""
    (only,) = of.of(shape)
    return only
