"""Pods that share a ResourceClaim: they are kept on one host, where one of them takes its devices for all.

The claim gets its devices once, on one node, so every pod that names it must be there. Where it has its
devices already, it pins its pods to their node without this (see ``claims``). Pods of one group become a
group of their own; pods of several groups, or of a topology without hosts, must be near each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from closeknit.dialects.core.devices import GROUP
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.neighbours import Near, PodSelector
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.problems import Problem
from closeknit.hub.request import Group, PodSet, Reference
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
        if len(parents) > 1 or HOST not in labels:
            root = _near(root, namespace, Reference("ResourceClaim", name), found)
    within = frozenset(name for name, parents in shared.items() if len(parents) == 1 and HOST in labels)
    return root.mapped(groups=lambda group: _together(group, within, found)) if not found else root


def _near(root: Group, namespace: str, claim: Reference, found: dict[Problem, None]) -> Group:
    """The root with pods that share a claim near each other; one that is sure to run takes its devices."""
    taker = next((each for each in _sure_to_run(root) if claim in each.claims), None)
    if taker is None:
        found[sentences.SHARED_ACROSS_GROUPS.at((), name=claim.name)] = None
        return root
    label = (f"{claim.kind} {claim.name}", "")
    meant = PodSelector(frozenset({namespace}), (Requirement(label[0], Operator.EXISTS),))

    def shares(pods: PodSet) -> PodSet:
        if claim not in pods.claims:
            return pods
        known = pods.neighbour
        seen = replace(
            known,
            namespace=namespace,
            labels=tuple(sorted({*known.labels, label})),
            rules=(*known.rules, Near((HOST,), meant)),
        )
        left = pods.claims if pods.name == taker.name else _without(pods.claims, claim)
        return replace(pods, neighbour=seen, claims=left)

    def parts(group: Group) -> Group:
        members = tuple(
            part
            for each in group.members
            for part in (
                _first_and_rest(each, _without(each.claims, claim))
                if isinstance(each, PodSet) and each.name == taker.name
                else (each,)
            )
        )
        more = len(members) > len(group.members)
        return replace(group, members=members, minimum=None) if more else group

    return root.mapped(shares, parts)


def _sure_to_run(group: Group) -> Iterator[PodSet]:
    """Pod sets of which a pod runs whenever anything of a group does."""
    for each in group.members if group.least == len(group.members) else ():
        if isinstance(each, Group):
            yield from _sure_to_run(each)
        elif each.least > len(each.bound):
            yield each


def _without(claims: tuple[Reference, ...], claim: Reference) -> tuple[Reference, ...]:
    return tuple(each for each in claims if each != claim)


def _first_and_rest(pods: PodSet, free: tuple[Reference, ...]) -> tuple[PodSet, ...]:
    """The first pod of a set that is still to place, as it is, and all others with these claims."""
    if pods.open < 2:
        return (pods,)
    waiting, least = pods.pod_names(), max(pods.least, 1)
    one = replace(pods, name=f"{pods.name}/first", count=1, minimum=None, pods=waiting[:1], bound=())
    rest = replace(
        pods,
        name=f"{pods.name}/rest",
        count=pods.count - 1,
        minimum=None if least == pods.count else least - 1,
        pods=waiting[1:],
        claims=free,
    )
    return one, rest


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
        members += _first_and_rest(replace(pods, claims=first), free)
    optional = all(not pods.least for pods in sets)
    return Group(sets[0].name, tuple(members), required=HOST, minimum=0 if optional else None)


def _is_allocated(view: View, namespace: str, name: str) -> bool:
    stored = view.get(Key(GROUP, "ResourceClaim", namespace, name))
    return stored is not None and stored.content.status.allocation is not None
