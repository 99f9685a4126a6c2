"""Objects in the spelling of Grove up to v0.1.0-alpha.8, which is that of its first proposal.

The binding was called ClusterTopology and there was one, so nobody named it; its domains had one of
seven names; ``pack.required`` was ``packDomain``; and preferences could not be said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.dialects.grove.topologies import DOMAINS, MANAGED
from closeknit.hub.problems import Problem, as_told, shown


def in_earlier_spelling(objects: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The objects with topologies and PodCliqueSets spelt as they were, and what could not be said so.

    A domain whose name did not exist gets one that no other level has.
    """
    given = list(objects)
    bindings = [each for each in given if each["kind"] == "ClusterTopologyBinding"]
    problems: list[Problem] = []
    for binding in bindings[1:]:
        message = (
            f"There was one topology before, and here is {shown(bindings[0]['metadata']['name'])} already."
        )
        problems.append(as_told(f"ClusterTopologyBinding {binding['metadata']['name']}", message))
    renamed = {one["metadata"]["name"]: _renamed(one, problems) for one in bindings}
    found: list[dict[str, Any]] = []
    for each in given:
        match each["kind"]:
            case "ClusterTopologyBinding":
                # Of several, the first is left, so that what is written can be applied.
                if each is bindings[0]:
                    found.append(_topology(each, renamed[each["metadata"]["name"]]))
            case "PodCliqueSet":
                found.append(_pod_clique_set(each, renamed, problems))
            case _:
                found.append(each)
    return found, problems


def _renamed(binding: dict[str, Any], problems: list[Problem]) -> dict[str, str]:
    """For each domain its earlier name."""
    domains = [level["domain"] for level in binding["spec"]["levels"]]
    unused = [domain for domain in DOMAINS if domain not in domains]
    others = [domain for domain in domains if domain not in DOMAINS]
    if len(others) > len(unused):
        message = f"There are {len(domains)} levels, and before there could be {len(DOMAINS)}."
        problems.append(as_told(f"ClusterTopologyBinding {binding['metadata']['name']}", message))
    return {**{domain: domain for domain in DOMAINS}, **dict(zip(others, unused, strict=False))}


def _topology(binding: dict[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    levels = [
        {**level, "domain": renamed[level["domain"]]}
        for level in binding["spec"]["levels"]
        if level["domain"] in renamed
    ]
    return {
        "apiVersion": binding["apiVersion"],
        "kind": "ClusterTopology",
        "metadata": {**binding["metadata"], "name": MANAGED},
        "spec": {"levels": levels},
    }


def _pod_clique_set(
    given: dict[str, Any], renamed: Mapping[str, Mapping[str, str]], problems: list[Problem]
) -> dict[str, Any]:
    name = given["metadata"]["name"]
    template = _without_pack(given["spec"]["template"], name, renamed, problems)
    for field in ("cliques", "podCliqueScalingGroups"):
        if field in template:
            template[field] = [
                _without_pack(each, f"{name}: {each['name']}", renamed, problems) for each in template[field]
            ]
    for group in template.get("podCliqueScalingGroups", ()):
        group.pop("annotations", None)
    return {**given, "spec": {**given["spec"], "template": template}}


def _without_pack(
    given: dict[str, Any], where: str, renamed: Mapping[str, Mapping[str, str]], problems: list[Problem]
) -> dict[str, Any]:
    spelt = dict(given)
    constraint = spelt.pop("topologyConstraint", None)
    if constraint is None:
        return spelt
    pack = constraint.get("pack", {})
    if preferred := pack.get("preferred"):
        message = f"The preference for {shown(preferred)} could not be said before, and is left out."
        problems.append(as_told(f"PodCliqueSet {where}", message))
    if required := pack.get("required") or constraint.get("packDomain"):
        # Where the topology is not among the objects, the domain is taken to be one of its time.
        known = renamed.get(constraint.get("topologyName", MANAGED), {})
        spelt["topologyConstraint"] = {"packDomain": known.get(required, required)}
    return spelt
