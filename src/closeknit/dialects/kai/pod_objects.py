"""The pods of a request, as KAI expects them: each names its PodGroup and subgroup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis.kai_keys import GROUP_ANNOTATION, SCHEDULER, SUBGROUP_LABEL
from closeknit.dialects.kai.naming import Taken, pod_name
from closeknit.dialects.kai.objects import leaf_names
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE
from closeknit.hub.nodes import NAME_FIELD, NodeFilter, Requirement, Term, Toleration
from closeknit.hub.quantities import written
from closeknit.hub.request import PodSet, Request

Object = dict[str, Any]


def to_pods(request: Request) -> Iterator[Object]:
    """Every pod of a request; those that run already stand on their nodes.

    Pods keep their names as far as Kubernetes allows. Those that run are not known by name, and get
    names that sort before the others.
    """
    namespace, _, group = request.name.rpartition("/")
    leaves = leaf_names(request)
    taken = Taken()
    for pods in request.root.pod_sets():
        leaf = leaves[pods.name]
        spec = pod_spec(pods)
        labels = {"labels": {SUBGROUP_LABEL: leaf}} if leaf else {}
        stem = pod_name(f"{group}-{leaf}" if leaf else group)
        names = [f"{stem}-{i}" for i in range(pods.count)]
        if pods.pods:
            names[len(pods.bound) :] = [pod_name(name) for name in pods.pods]
        nodes = [*pods.bound, *("" for _ in range(pods.open))]
        for name, node in zip(names, nodes, strict=True):
            metadata = {
                "name": taken.take(name),
                "namespace": namespace or DEFAULT_NAMESPACE,
                **labels,
                "annotations": {GROUP_ANNOTATION: group},
            }
            placed = {**spec, "nodeName": node} if node else spec
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": placed}


def pod_spec(pods: PodSet) -> Object:
    """What each pod of a set asks of a node. Its image is for its author to say."""
    requests = {name: written(name, units) for name, units in pods.resources.items()}
    # Kubernetes wants the same request and limit of everything but its own resources.
    limits = {name: amount for name, amount in requests.items() if "/" in name}
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    ports = [
        {"containerPort": each.port, "hostPort": each.port, "protocol": each.protocol}
        for each in sorted(pods.host_ports)
    ]
    container: Object = {"name": "main", "image": "busybox"}
    if requests:
        container["resources"] = resources
    if ports:
        container["ports"] = ports
    return {"schedulerName": SCHEDULER, **_accepted(pods.filter), "containers": [container]}


def _accepted(given: NodeFilter) -> Object:
    spec: Object = {}
    if given.selector:
        spec["nodeSelector"] = dict(given.selector)
    affinity: Object = {}
    if given.affinity is not None:
        # A term without requirements matches no node, and so do no terms at all, which cannot be written.
        terms = [_term(term) for term in given.affinity] or [{}]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if given.preferences:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": each.weight, "preference": _term(each.term)} for each in given.preferences
        ]
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    if given.tolerations:
        spec["tolerations"] = [_toleration(each) for each in given.tolerations]
    return spec


def _term(term: Term) -> Object:
    made: Object = {}
    for field, chosen in (
        ("matchExpressions", [each for each in term.requirements if each.key != NAME_FIELD]),
        ("matchFields", [each for each in term.requirements if each.key == NAME_FIELD]),
    ):
        if chosen:
            made[field] = [_requirement(each) for each in chosen]
    return made


def _requirement(given: Requirement) -> Object:
    values = {"values": list(given.values)} if given.values else {}
    return {"key": given.key, "operator": given.operator.value, **values}


def _toleration(given: Toleration) -> Object:
    made: Object = {"key": given.key} if given.key else {}
    made |= {"operator": "Exists"} if given.value is None else {"operator": "Equal", "value": given.value}
    return {**made, "effect": given.effect.value} if given.effect is not None else made
