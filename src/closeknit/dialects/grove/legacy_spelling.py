"""Objects in the spelling of Grove up to v0.1.0-alpha.8, which is that of its first proposal.

The binding was called ClusterTopology and there was one, so nobody named it; its domains had one of
seven names; ``pack.required`` was ``packDomain``; and there were no preferences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.family import Object
from closeknit.dialects.grove.topologies import DOMAINS, MANAGED
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import grove as sentences


def in_legacy_spelling(objects: Iterable[Object], found: list[Problem]) -> list[Object]:
    """The objects with topologies and PodCliqueSets spelt as they were.

    What had no spelling then is added to ``found``. A domain whose name did not exist gets one that no
    other level has.
    """
    given = list(objects)
    bindings = [each for each in given if each["kind"] == "ClusterTopologyBinding"]
    for binding in bindings[1:]:
        second = sentences.ONE_TOPOLOGY_BEFORE.at((), first=bindings[0]["metadata"]["name"])
        found.append(second.of("ClusterTopologyBinding", binding["metadata"]["name"]))
    renamed = {one["metadata"]["name"]: _renamed(one, found) for one in bindings}
    spelt: list[Object] = []
    for each in given:
        match each["kind"]:
            case "ClusterTopologyBinding":
                # Of several, the first is left, so that what is written can be applied.
                if each is bindings[0]:
                    spelt.append(_topology(each, renamed[each["metadata"]["name"]]))
            case "PodCliqueSet":
                lost: list[Problem] = []
                spelt.append(_pod_clique_set(each, renamed, lost))
                found.extend(problem.of("PodCliqueSet", each["metadata"]["name"]) for problem in lost)
            case _:
                spelt.append(each)
    return spelt


def _renamed(binding: Object, found: list[Problem]) -> dict[str, str]:
    """For each domain its earlier name."""
    domains = [level["domain"] for level in binding["spec"]["levels"]]
    unused = [domain for domain in DOMAINS if domain not in domains]
    others = [domain for domain in domains if domain not in DOMAINS]
    if len(others) > len(unused):
        many = sentences.TOO_MANY_LEVELS_BEFORE.at((), levels=len(domains), most=len(DOMAINS))
        found.append(many.of("ClusterTopologyBinding", binding["metadata"]["name"]))
    return {**{domain: domain for domain in DOMAINS}, **dict(zip(others, unused, strict=False))}


def _topology(binding: Object, renamed: Mapping[str, str]) -> Object:
    levels = [
        {**level, "domain": renamed[level["domain"]]}
        for level in binding["spec"]["levels"]
        if level["domain"] in renamed
    ]
    metadata = {**binding["metadata"], "name": MANAGED}
    return new_object(binding["apiVersion"], "ClusterTopology", metadata, {"levels": levels})


def _pod_clique_set(given: Object, renamed: Mapping[str, Mapping[str, str]], found: list[Problem]) -> Object:
    path: Path = ("spec", "template")
    template = _without_pack(given["spec"]["template"], path, renamed, found)
    for field in ("cliques", "podCliqueScalingGroups"):
        if field in template:
            template[field] = [
                _without_pack(each, (*path, field, i), renamed, found)
                for i, each in enumerate(template[field])
            ]
    for group in template.get("podCliqueScalingGroups", ()):
        group.pop("annotations", None)
    return {**given, "spec": {**given["spec"], "template": template}}


def _without_pack(
    given: Object, path: Path, renamed: Mapping[str, Mapping[str, str]], found: list[Problem]
) -> Object:
    spelt = dict(given)
    constraint = spelt.pop("topologyConstraint", None)
    if constraint is None:
        return spelt
    pack = constraint.get("pack", {})
    if preferred := pack.get("preferred"):
        where = (*path, "topologyConstraint", "pack", "preferred")
        found.append(sentences.NO_PREFERENCE_BEFORE.at(where, level=preferred))
    if required := pack.get("required") or constraint.get("packDomain"):
        # Where the topology is not among the objects, the domain is taken to be one of its time.
        known = renamed.get(constraint.get("topologyName", MANAGED), {})
        spelt["topologyConstraint"] = {"packDomain": known.get(required, required)}
    return spelt
