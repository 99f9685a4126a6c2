"""Pods that share a ResourceClaim: they are kept on one host, where one of them takes its devices for all.

The claim gets its devices once, on one node, so every pod that names it must be there. Where it has its
devices already, it pins its pods to their node without this (see ``claims``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from closeknit.dialects.core.devices import GROUP
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.request import Group, PodSet
from closeknit.hub.sentences import claims as sentences

HOST = "kubernetes.io/hostname"


def on_one_host(
    view: View, namespace: str, root: Group, labels: tuple[str, ...], found: dict[Problem, None]
) -> Group:
    """The root with pods that share a claim kept on one host; what cannot be kept goes into ``found``."""
    shared = {
        name: parents
        for name, parents in _sharers(root).items()
        if sum(parents.values()) > 1 and not _is_allocated(view, namespace, name)
    }
    if not shared:
        return root
    for name, parents in shared.items():
        if len(parents) > 1:
            found[sentences.SHARED_ACROSS_GROUPS.at((), name=name)] = None
        elif HOST not in labels:
            found[sentences.SHARED_BY_PODS.at((), name=name)] = None
    return root.mapped(groups=lambda group: _together(group, frozenset(shared), found)) if not found else root


def _sharers(root: Group) -> dict[str, Counter[str]]:
    """By claim, how many pods of each group name it."""
    found: dict[str, Counter[str]] = {}
    for pods, parent in root.walk():
        if isinstance(pods, PodSet) and parent is not None:
            for each in pods.claims:
                if each.kind == "ResourceClaim":
                    found.setdefault(each.name, Counter())[parent.name] += pods.count
    return found


def _together(group: Group, shared: frozenset[str], found: dict[Problem, None]) -> Group:
    """The group with pod sets that share a claim in groups of their own, each on one host."""
    bundles: list[tuple[frozenset[str], list[PodSet]]] = []
    others: list[PodSet | Group] = []
    for member in group.members:
        own = _shared_by(member, shared) if isinstance(member, PodSet) else frozenset()
        if not isinstance(member, PodSet) or not own:
            others.append(member)
            continue
        meeting = [each for each in bundles if each[0] & own]
        bundles = [each for each in bundles if not each[0] & own]
        names = own.union(*(each[0] for each in meeting))
        bundles.append((names, [*(pods for each in meeting for pods in each[1]), member]))
    if not bundles:
        return group
    if group.minimum is not None and any(len(sets) > 1 for _, sets in bundles):
        for names, _ in bundles:
            found.update((sentences.SHARED_ACROSS_GROUPS.at((), name=each), None) for each in sorted(names))
        return group
    return replace(group, members=(*(_bundle(sets, names) for names, sets in bundles), *others))


def _shared_by(pods: PodSet, shared: frozenset[str]) -> frozenset[str]:
    return frozenset(each.name for each in pods.claims if each.kind == "ResourceClaim") & shared


def _bundle(sets: list[PodSet], names: frozenset[str]) -> Group:
    """Pod sets on one host, of which the first pod that names a claim takes its devices."""
    members: list[PodSet] = []
    taken: set[str] = set()
    for pods in sets:
        free = tuple(each for each in pods.claims if each.kind != "ResourceClaim" or each.name not in names)
        mine = _shared_by(pods, names)
        if mine <= taken:
            members.append(replace(pods, claims=free))
            continue
        first = tuple(each for each in pods.claims if each in free or each.name not in taken)
        taken |= mine
        if pods.open < 2:
            members.append(replace(pods, claims=first))
            continue
        waiting = pods.pod_names()
        least = max(pods.least, 1)
        one = replace(
            pods, name=f"{pods.name}/first", count=1, minimum=None, pods=waiting[:1], bound=(), claims=first
        )
        rest = replace(
            pods,
            name=f"{pods.name}/rest",
            count=pods.count - 1,
            minimum=None if least == pods.count else least - 1,
            pods=waiting[1:],
            claims=free,
        )
        members += (one, rest)
    optional = all(not pods.least for pods in sets)
    return Group(sets[0].name, tuple(members), required=HOST, minimum=0 if optional else None)


def _is_allocated(view: View, namespace: str, name: str) -> bool:
    stored = view.get(Key(GROUP, "ResourceClaim", namespace, name))
    return stored is not None and stored.content.status.allocation is not None
