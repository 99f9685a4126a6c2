"""Any workload as a Job or JobSet that queues, with the queue, flavor and topology that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis import kueue_keys as keys
from closeknit.apis.closeknit_keys import LEFT_OUT
from closeknit.dialects.core.kinds import ANY_NODE, indexed_job, new_object, resource_group
from closeknit.dialects.core.levels import down_to_nodes
from closeknit.dialects.core.naming import plain_name, shortened
from closeknit.dialects.core.pod_specs import pod_labels, pod_spec
from closeknit.dialects.family import Object
from closeknit.dialects.kueue.queued_workload import MOST_POD_SETS
from closeknit.dialects.kueue.to_pod_sets import Piece, ToPodSets
from closeknit.dialects.kueue.topology_request import LONGEST_LEVEL, to_annotations, to_fields
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE
from closeknit.hub.copying import replace
from closeknit.hub.problems import InvalidError
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import Topology
from closeknit.hub.workload import PlaceableWorkload

_LONGEST_SET, _LONGEST_JOB = 28, 18
"""So that a pod's name, which holds both and two numbers, keeps within 63 characters."""


def express(workload: PlaceableWorkload, topologies: Mapping[str, Topology]) -> Iterator[Object]:
    """Topology, ResourceFlavor, ClusterQueue, LocalQueue and a JobSet that ask for the same.

    The queue is the workload's own, with just the quota that it needs. Equal groups become slices
    of one replicated job. Where fewer pods will do it is a Job, because Kueue admits no other with part of
    its pods. Raises ``InvalidError`` for a tree that Kueue has no words for, with every
    place; preferences that Kueue cannot express are left out, and listed in an annotation.
    """
    request = workload.request
    topology = topologies.get(request.topology) if request.topology is not None else None
    request = down_to_nodes(request, topology)
    topology = topology.down_to_nodes() if topology is not None else None
    conversion = ToPodSets(topology)
    pieces = conversion.convert(request.root)
    problems, where = conversion.problems, ("JobSet",)
    if not pieces:
        problems.append(sentences.NO_PODS.at(where))
    if len(pieces) > MOST_POD_SETS:
        problems.append(sentences.TOO_MANY_POD_SETS.at(where, given=len(pieces), most=MOST_POD_SETS))
    for level in dict.fromkeys(level for piece in pieces for level in _levels(piece)):
        if len(level) > LONGEST_LEVEL:
            problems.append(sentences.LEVEL_NAME_TOO_LONG.at(where, level=level, most=LONGEST_LEVEL))
    if problems:
        raise InvalidError(problems)
    namespace = workload.object.namespace or DEFAULT_NAMESPACE
    name = shortened(_plain(workload.object.name), _LONGEST_SET)
    queue = f"{_plain(namespace)}-{name}"[:253]
    labels = _shared_labels(pieces)
    flavor = queue if labels or topology is None else topology.name
    if topology is not None:
        levels = [{"nodeLabel": label} for label in topology.labels]
        yield _object("Topology", {"name": topology.name}, {"levels": levels})
        spec: Object = {"nodeLabels": labels or ANY_NODE, "topologyName": topology.name}
        yield _object("ResourceFlavor", {"name": flavor}, spec)
    else:
        yield _object("ResourceFlavor", {"name": flavor}, {"nodeLabels": labels} if labels else {})
    yield _object(
        "ClusterQueue", {"name": queue}, {"namespaceSelector": {}, "resourceGroups": [_quota(pieces, flavor)]}
    )
    yield _object("LocalQueue", {"name": name, "namespace": namespace}, {"clusterQueue": queue})
    metadata: Object = {"name": name, "namespace": namespace, "labels": {keys.QUEUE: name}}
    if conversion.left_out:
        metadata["annotations"] = {LEFT_OUT: "; ".join(conversion.left_out)}
    if pieces[0].minimum is not None:
        (piece,) = pieces
        metadata.setdefault("annotations", {})[keys.MIN_PARALLELISM] = str(piece.minimum)
        spec = {"suspend": True, **_job(replace(piece, replicas=1))}
        yield new_object("batch/v1", "Job", metadata, spec)
        return
    spec = {"suspend": True, "replicatedJobs": _replicated_jobs(pieces)}
    yield new_object("jobset.x-k8s.io/v1alpha2", "JobSet", metadata, spec)


def _object(kind: str, metadata: Object, spec: Object) -> Object:
    return new_object(keys.API_VERSION, kind, metadata, spec)


def _quota(pieces: list[Piece], flavor: str) -> Object:
    asked = Resources()
    for piece in pieces:
        asked += piece.pods.resources * piece.count
    asked = Resources({**asked, "pods": sum(piece.count for piece in pieces)})
    return resource_group(asked, [flavor])


def _shared_labels(pieces: list[Piece]) -> dict[str, str]:
    """The node labels that all pods select: together they tell the flavor."""
    shared = set(pieces[0].pods.filter.selector)
    for piece in pieces[1:]:
        shared &= set(piece.pods.filter.selector)
    return dict(sorted(shared)[:8])


def _replicated_jobs(pieces: list[Piece]) -> list[Object]:
    names: dict[str, str] = {}
    jobs: list[Object] = []
    for piece in pieces:
        # A pod set carries the name of its group with a number, which says nothing where it is the only one.
        wanted = shortened(_plain(piece.name.removesuffix("/1")), _LONGEST_JOB)
        number, name = 1, wanted
        while name in names.values():
            number += 1
            name = f"{wanted[: _LONGEST_JOB - 3]}-{number}"
        names[piece.name] = name
        jobs.append({"name": name, "replicas": piece.replicas, "template": {"spec": _job(piece)}})
    return jobs


def _job(piece: Piece) -> Object:
    """The spec of each of its Jobs."""
    each = piece.count // piece.replicas
    template: Object = {"spec": {**pod_spec(piece.pods), "restartPolicy": "Never"}}
    preferred = piece.preferred if piece.required is None else None
    group = f"{shortened(_plain(piece.group), 40)}-group" if piece.group else ""
    metadata: Object = {"labels": labels} if (labels := pod_labels(piece.pods)) else {}
    if annotations := to_annotations(to_fields(piece.required, preferred, piece.layers, group)):
        metadata["annotations"] = annotations
    if metadata:
        template = {"metadata": metadata, **template}
    return indexed_job(each, template)


def _levels(piece: Piece) -> Iterator[str]:
    yield from (level for level in (piece.required, piece.preferred) if level is not None)
    yield from (level for level, _ in piece.layers)


def _plain(name: str) -> str:
    plain = plain_name(name)
    return plain if plain[0].isalpha() else f"x-{plain}"
