"""What the pod of a task asks of a node, by the resource that the task names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.apis.core_v1 import PodSpec
from closeknit.dialects.core.node_filters import node_filter
from closeknit.dialects.core.pods import Shape
from closeknit.dialects.core.resources import pod_resources
from closeknit.dialects.osmo.pools import ReadPool, platform_terms
from closeknit.dialects.osmo.requirements import Resource
from closeknit.dialects.osmo.rules import GPU, RESOURCES, quantity, whole_cpus
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.sentences import osmo as sentences
from closeknit.hub.topology import HOSTNAME


def requests(resource: Resource, pool: ReadPool | None, found: list[Problem]) -> dict[str, str]:
    """Quantities by resource name: the resource's own, else the pool's default.

    Where neither says anything at all, a task is taken to need one GPU.
    """
    given = resource.given
    own = {"cpu": given.cpu, "gpu": given.gpu, "memory": given.memory, "storage": given.storage}
    defaults = pool.defaults if pool is not None else {}
    asked: dict[str, str] = {}
    for field, name in RESOURCES.items():
        written = own[field]
        if written is None:
            if name in defaults:
                asked[name] = defaults[name]
            continue
        try:
            asked[name] = whole_cpus(written) if field == "cpu" else quantity(field, written)
        except InvalidError as error:
            found.extend(problem.under(*resource.path, field) for problem in error.problems)
    return asked or {GPU: "1"}


def node_terms(resource: Resource, pool: ReadPool | None, found: list[Problem]) -> dict[str, Any]:
    """The fields of a pod's spec that say which nodes it accepts."""
    terms: dict[str, Any] = {}
    platforms = pool.file.platforms if pool is not None else {}
    name = resource.given.platform or (pool.file.default_platform if pool is not None else "")
    if resource.given.platform and platforms and name not in platforms:
        remedy, path = OneOf.among(name, platforms), (*resource.path, "platform")
        owner = pool.name if pool is not None else ""
        found.append(sentences.UNKNOWN_PLATFORM.at(path, pool=owner, platform=name, remedy=remedy))
    if (platform := platforms.get(name)) is not None:
        terms.update(platform_terms(platform))
    if resource.given.nodes_excluded:
        expression = {
            "key": HOSTNAME,
            "operator": "NotIn",
            "values": sorted(set(resource.given.nodes_excluded)),
        }
        selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        terms["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    return terms


def shape(asked: Mapping[str, str], terms: Mapping[str, Any]) -> Shape:
    """What a pod with these fields asks for, read in the same way as any other pod.

    The quantities and the pool's platforms were checked before, so nothing is left to report.
    """
    container = {"name": "task", "resources": {"requests": dict(asked)}}
    spec = msgspec.convert({**terms, "containers": [container]}, PodSpec)
    return Shape(pod_resources(spec, []), node_filter(spec, []))
