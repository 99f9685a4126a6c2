"""An independent check of a placement: every rule, and everything that it says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import GroupReach, Placed
from closeknit.hub.request import Group, Request
from closeknit.hub.topology import DomainPath
from closeknit.testing.meaning import broken, new_pods, nodes_of, wishes_of
from closeknit.testing.neighbour_meaning import rule_reaches
from closeknit.testing.scene import Scene, Spread


def violations(cluster: Cluster, request: Request, placed: Placed) -> list[str]:
    """Everything that is wrong with a placement, a sentence each; empty for a sound one.

    Covers the rules of the request (capacity, filters, forming, required levels), the
    naming of pods, and what the placement reports: domains, groups and wishes.
    """
    scene = Scene.of(cluster, request)
    found = list(_naming(scene, placed))
    if any(assignment.node not in scene.nodes for assignment in placed.assignments):
        # Nothing further can be judged about pods that are nowhere.
        return found
    spread = spread_of(placed)
    found.extend(broken(scene, spread))
    found.extend(_reported_groups(scene, spread, placed))
    true = wishes_of(scene, spread)
    if placed.wishes.room is None:
        true = replace(true, room=None)
    if placed.wishes != true:
        found.append(f"the wishes are {true}, but {placed.wishes} are reported")
    if placed.rules != (kept := tuple(rule_reaches(scene, spread))):
        found.append(f"preferred rules are kept like {kept}, but {placed.rules} is reported")
    return found


def spread_of(placed: Placed) -> Spread:
    """How many pods of each set a placement gives to each node."""
    spread: dict[str, Counter[str]] = {}
    for assignment in placed.assignments:
        spread.setdefault(assignment.pod_set, Counter())[assignment.node] += 1
    return spread


def _naming(scene: Scene, placed: Placed) -> Iterator[str]:
    """Each pod once, under a name of its own set, in rank order, at the domain of its node."""
    if placed.request != scene.request.name:
        yield f"the placement is for {placed.request}, not for {scene.request.name}"
    pod_sets = {pods.name: pods for pods in scene.request.root.pod_sets()}
    by_set: dict[str, list[str]] = {}
    finished: list[str] = []
    for assignment in placed.assignments:
        if assignment.pod_set not in pod_sets:
            yield f"pod {assignment.pod} belongs to {assignment.pod_set}, which is not in the request"
        elif assignment.pod not in pod_sets[assignment.pod_set].pod_names():
            yield f"pod {assignment.pod} is not an open pod of {assignment.pod_set}"
        if assignment.node not in scene.nodes:
            yield f"pod {assignment.pod} is placed on {assignment.node}, which does not exist"
        elif assignment.domain != scene.paths[assignment.node]:
            yield (
                f"pod {assignment.pod} on {assignment.node} reports domain {assignment.domain},"
                f" not {scene.paths[assignment.node]}"
            )
        if not finished or finished[-1] != assignment.pod_set:
            if assignment.pod_set in finished:
                yield f"the pods of {assignment.pod_set} are not listed one after the other"
            finished.append(assignment.pod_set)
        by_set.setdefault(assignment.pod_set, []).append(assignment.pod)
    for name, count in Counter(assignment.pod for assignment in placed.assignments).items():
        if count > 1:
            yield f"pod {name} is placed {count} times"
    for name, placed_names in by_set.items():
        if name in pod_sets:
            ranks = {pod: rank for rank, pod in enumerate(pod_sets[name].pod_names())}
            if placed_names != sorted(placed_names, key=lambda pod: ranks.get(pod, -1)):
                yield f"the pods of {name} are not listed in rank order"


def _reported_groups(scene: Scene, spread: Spread, placed: Placed) -> Iterator[str]:
    names = [reach.name for reach in placed.groups]
    groups = [(each, parent) for each, parent in scene.request.root.walk() if isinstance(each, Group)]
    if sorted(names) != (want := sorted(group.name for group, _ in groups)):
        yield f"groups {sorted(names)} are reported, but the request has {want}"
        return
    for group, parent in groups:
        if parent is not None and names.index(parent.name) > names.index(group.name):
            yield f"group {group.name} is reported before its parent"
        reported, true = placed.groups[names.index(group.name)], reach_of(scene, spread, group, parent)
        if reported != true:
            yield f"group {group.name} reached {true}, but {reported} is reported"


def reach_of(scene: Scene, spread: Spread, group: Group, parent: Group | None) -> GroupReach:
    """How close the pods of a group came, running ones included."""
    used = nodes_of(group, spread)
    finest = scene.finest_shared(used)
    preferred = None if group.preferred is None else scene.labels.index(group.preferred)
    kept = preferred is None or not used or (finest is not None and finest >= preferred)
    level: int | None
    domains: tuple[DomainPath, ...]
    if kept or preferred is None:
        level = finest
        shared = None if finest is None else scene.shared(used, finest)
        domains = () if shared is None else (shared,)
    else:
        level = preferred
        domains = tuple(
            sorted({path for node in used if (path := scene.domain(node, preferred)) is not None})
        )
    return GroupReach(
        name=group.name,
        parent=None if parent is None else parent.name,
        required=group.required,
        preferred=group.preferred,
        level=None if level is None else scene.labels[level],
        domains=domains,
        satisfied=kept,
        pods=sum(len(pods.bound) + new_pods(spread, pods) for pods in group.pod_sets()),
    )
