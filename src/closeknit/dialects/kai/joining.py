"""Jobs and the like whose pods join a PodGroup that somebody else wrote: their templates name it.

Their pods are members of the PodGroup before they exist, so nothing has to be assumed for its leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from closeknit.apis.kai_keys import GROUP_ANNOTATION, SKIP, SUBGROUP_LABEL
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.minimum_members import ExpectedPod
from closeknit.dialects.core.owner_references import controller_reference, refers_to
from closeknit.dialects.core.pod_makers import GANGS, made_pods, speaks_for_itself
from closeknit.dialects.core.pod_roles import PodRole
from closeknit.dialects.core.pods import ReadPod, Stage, read_template
from closeknit.dialects.kai.implicit_groups import pod_group_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem

_GROUP = GROUP_ANNOTATION.encode()
_JOINING = "kai owners by the PodGroup that their pods join"


def groups_joined(stored: Stored[Any]) -> Iterator[Key]:
    """The PodGroups that the templates of an object name."""
    # Most objects name none, and taking one apart costs more than looking for the word in its metadata.
    if (stored.key.group, stored.key.kind) not in GANGS or not _mentions(stored.written):
        return
    for _, role in _roles(stored):
        if name := role.template.metadata.annotations.get(GROUP_ANNOTATION):
            yield pod_group_key(stored.namespace, name)


def groups_named(view: View, key: Key) -> tuple[Key, ...]:
    """The same of an object in the store."""
    stored = view.get(key)
    return tuple(groups_joined(stored)) if stored is not None else ()


def joins(stored: Stored[Any], view: View) -> bool:
    """Whether the pods of an object belong to PodGroups that are there, or are to be left alone."""
    named = view.derive(groups_named, stored.key)
    skips = value_at(stored.written, ("metadata", "annotations")).get(SKIP) == "true"
    return bool(named) and (skips or all(map(view.has, named)))


def expected_members(
    view: View, group: Key, pods: Sequence[ReadPod], found: list[Problem]
) -> dict[str, list[ExpectedPod]]:
    """By leaf, the pods that will join a PodGroup; those that exist already are left out."""
    made: dict[str, list[ExpectedPod]] = {}
    taken = {pod.name for pod in pods}
    for stored in view.found(_JOINING, group):
        if not speaks_for_itself(view, stored):
            continue
        present = sum(
            pod.stage not in (Stage.FAILED, Stage.LEAVING)
            for pod in pods
            for owner in (controller_reference(pod.stored.content.metadata),)
            if owner is not None and refers_to(owner, pod.stored.key.namespace, stored)
        )
        for stem, role in _roles(stored):
            if role.template.metadata.annotations.get(GROUP_ANNOTATION) != group.name:
                continue
            labels = role.template.metadata.labels
            read = read_template(role.template.spec, role.path, namespace=stored.namespace, labels=labels)
            found.extend(problem.of(stored.object.kind, stored.name) for problem in read.problems)
            leaf = role.template.metadata.labels.get(SUBGROUP_LABEL, "")
            names = [name for i in range(role.count) if (name := f"{stem}-{i}") not in taken]
            kept = names[min(present, len(names)) :]
            present = max(present - len(names), 0)
            made.setdefault(leaf, []).extend(ExpectedPod(name, read.shape) for name in kept)
    return made


def _roles(stored: Stored[Any]) -> Iterator[tuple[str, PodRole]]:
    """The roles of an object, each with the beginning of its pods' names."""
    for gang in made_pods(stored.written, stored.key.group, stored.key.kind).gangs:
        several = len(gang.roles) > 1
        for role in gang.roles:
            yield f"{stored.name}{gang.suffix}{f'-{role.name}' if several else ''}", role


def _mentions(written: Any) -> bool:
    """Whether the name of the annotation stands anywhere in an object."""
    try:
        return _GROUP in msgspec.json.encode(written)
    except (TypeError, OverflowError, RecursionError):
        # What JSON cannot say is looked at more closely.
        return True


def joining_indexes(shapes: Sequence[type[Any]]) -> tuple[Index, ...]:
    """Objects of these shapes by the PodGroups that their pods join."""
    return tuple(Index(_JOINING, shape, groups_joined) for shape in shapes)
