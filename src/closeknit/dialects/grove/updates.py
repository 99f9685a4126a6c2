"""What may not change in objects of Grove once they exist.

Of a ClusterTopology these are the levels; of a PodCliqueSet its constraints, its composition and its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.kai_keys import SCHEDULER
from closeknit.dialects.grove.places import Place, places
from closeknit.dialects.grove.rules import EXPLICIT, IN_ORDER
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, shown
from closeknit.hub.sentences import grove as sentences

_KIND = "PodCliqueSet"
_TEMPLATE: Path = ("spec", "template")
_CLIQUES, _GROUPS = (*_TEMPLATE, "cliques"), (*_TEMPLATE, "podCliqueScalingGroups")
_ANY_ORDER = "CliqueStartupTypeAnyOrder"


def topology_problems(
    old: Stored[wire.ClusterTopology], new: Stored[wire.ClusterTopology], _: View
) -> Iterator[Problem]:
    """The levels of a ClusterTopology are fixed; those of its successor are not."""
    if old.content.spec.levels != new.content.spec.levels:
        yield sentences.LEVELS_CHANGED.at(("spec", "levels"))


def update_problems(
    old: Stored[wire.PodCliqueSet], new: Stored[wire.PodCliqueSet], _: View
) -> Iterator[Problem]:
    """Everything about a change of a PodCliqueSet that cannot be made in place."""
    before, after = old.content.spec.template, new.content.spec.template
    if before == after:
        return
    yield from first_of(_clique_problems(before, after))
    yield from _start_problems(before, after)
    yield from first_of(_scaling_group_problems(before, after))
    if _constrained(before) == _constrained(after):
        return
    earlier = places(old.content)
    yield from first_of(
        problem
        for name, place in places(new.content).items()
        if name in earlier and earlier[name].given != place.given
        for problem in constraint_problems(earlier[name].given, place)
    )


def _constrained(
    template: wire.PodCliqueSetTemplate,
) -> tuple[wire.TopologyConstraint | None, list[Any], list[Any]]:
    """What is constrained, and how."""
    groups, cliques = template.pod_clique_scaling_groups, template.cliques
    return (
        template.topology_constraint,
        [(each.name, each.topology_constraint) for each in groups],
        [(each.name, each.topology_constraint) for each in cliques],
    )


def constraint_problems(
    old: wire.TopologyConstraint | None, new: Place, kind: str = _KIND
) -> Iterator[Problem]:
    """Everything about a change of one constraint that cannot be made in place.

    A requirement may move from ``packDomain`` to ``pack.required``, and a constraint
    in the earlier spelling may be given the name of its topology.
    """
    if old is None and new.given is None:
        return
    if old is None or new.given is None:
        done = "added to" if old is None else "removed from"
        yield sentences.CONSTRAINT_ADDED_OR_REMOVED.at(new.path, done=done, kind=kind)
        return

    def changed(field: Path, what: str, was: str, now: str) -> Problem:
        facts = {"what": what, "old": _quoted(was), "new": _quoted(now), "kind": kind}
        return sentences.CONSTRAINT_CHANGED.at((*new.path, *field), **facts)

    for word, was, now in zip(("required", "preferred"), _domains(old), _domains(new.given), strict=True):
        if was != now:
            field = ("pack", word) if new.given.pack is not None else ("packDomain",)
            yield changed(field, f"{word} domain", was, now)
    named_late = not old.topology_name and bool(old.pack_domain)
    if old.topology_name != new.given.topology_name and not named_late:
        yield changed(("topologyName",), "topology", old.topology_name, new.given.topology_name)


def _domains(given: wire.TopologyConstraint) -> tuple[str, str]:
    """What is required and preferred; empty for nothing."""
    pack = given.pack or wire.TopologyPackConstraint()
    return pack.required or given.pack_domain, pack.preferred


def _clique_problems(old: wire.PodCliqueSetTemplate, new: wire.PodCliqueSetTemplate) -> Iterator[Problem]:
    before = {clique.name: clique.spec for clique in old.cliques}
    after = [clique.name for clique in new.cliques]
    yield from _members_changed(_CLIQUES, "cliques", list(before), after)
    starts = new.clique_startup_type in (IN_ORDER, EXPLICIT)
    if starts and list(before) != after and sorted(before) == sorted(after):
        yield sentences.ORDER_CHANGED.at(_CLIQUES, what="cliques", old=tuple(before), new=tuple(after))
    for i, clique in enumerate(new.cliques):
        if clique.name not in before or before[clique.name] == clique.spec:
            continue
        was, now, path = before[clique.name], clique.spec, (*_CLIQUES, i, "spec")
        yield from _changed((*path, "roleName"), was.role_name, now.role_name)
        yield from _minimum_changed(path, was.min_available, now.min_available, was.replicas, now.replicas)
        yield from _changed((*path, "startsAfter"), was.starts_after, now.starts_after)
        yield from _changed((*path, "podSpec", "schedulerName"), _scheduler(was), _scheduler(now))


def _start_problems(old: wire.PodCliqueSetTemplate, new: wire.PodCliqueSetTemplate) -> Iterator[Problem]:
    was, now = (each.clique_startup_type or _ANY_ORDER for each in (old, new))
    yield from _changed((*_TEMPLATE, "cliqueStartupType"), was, now)


def _scaling_group_problems(
    old: wire.PodCliqueSetTemplate, new: wire.PodCliqueSetTemplate
) -> Iterator[Problem]:
    before = {group.name: group for group in old.pod_clique_scaling_groups}
    after = [group.name for group in new.pod_clique_scaling_groups]
    yield from _members_changed(_GROUPS, "scaling groups", list(before), after)
    for i, now in enumerate(new.pod_clique_scaling_groups):
        if now.name not in before or before[now.name] == now:
            continue
        was, path = before[now.name], (*_GROUPS, i)
        names = (*path, "cliqueNames")
        yield from _members_changed(names, "cliques", was.clique_names, now.clique_names)
        if was.clique_names != now.clique_names and sorted(was.clique_names) == sorted(now.clique_names):
            facts = {"old": tuple(was.clique_names), "new": tuple(now.clique_names)}
            yield sentences.ORDER_CHANGED.at(names, what="cliques", **facts)
        yield from _minimum_changed(path, was.min_available, now.min_available, 1, 1)


def _scheduler(given: wire.PodCliqueSpec) -> str:
    return str((given.pod_spec or {}).get("schedulerName") or SCHEDULER)


def _minimum_changed(
    path: Path, was: int | None, now: int | None, old_default: int | None, new_default: int | None
) -> Iterator[Problem]:
    """A minimum that nobody writes stays what it was, however many replicas there are by now."""
    if was is None and now is None:
        return
    before = (old_default or 1) if was is None else was
    after = (new_default or 1) if now is None else now
    yield from _changed((*path, "minAvailable"), before, after)


def _members_changed(path: Path, what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Problem]:
    before, after = frozenset(old), frozenset(new)
    for done, names in (
        ("added", tuple(name for name in new if name not in before)),
        ("removed", tuple(name for name in old if name not in after)),
    ):
        if names:
            yield sentences.MEMBERS_CHANGED.at(path, what=what, names=names, done=done)


def _changed(
    path: Path, was: str | int | tuple[str, ...], now: str | int | tuple[str, ...]
) -> Iterator[Problem]:
    if was != now:
        yield sentences.FIELD_CHANGED.at(path, old=_quoted(was), new=_quoted(now), kind=_KIND)


def _quoted(value: str | int | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(shown, value)) or "none"
    return shown(value) if value or value == 0 else "none"
