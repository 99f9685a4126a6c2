"""Writing the parts of a PodCliqueSet so that those who run keep running while a template changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from closeknit.apis.closeknit_keys import TEMPLATE, TEMPLATE_REPLICAS
from closeknit.apis.grove_io_v1alpha1 import PodClique
from closeknit.controllers.grove.statuses import CURRENT, count, is_looked_at, status_of
from closeknit.controllers.runtime.comparing import is_applied, is_going
from closeknit.controllers.runtime.writes import Apply, Delete, Patch, Write
from closeknit.dialects.core.owner_references import is_controlled_by
from closeknit.dialects.family import Object
from closeknit.dialects.store.objects import Stored

_SCALED = (("spec", "replicas"),)
"""Whoever scales a part by its own decides how large it is; a new number in the template is taken over."""


class Part(NamedTuple):
    """A part that should be there, and what is there under its name."""

    body: Object
    found: Stored[Any] | None
    least: int
    ready: int
    """How many of it are ready, pods or replicas."""
    updated: int
    current: bool
    """Whether it is as it should be, whatever its pods are."""


def part(body: Object, found: Stored[Any] | None) -> Part:
    """A part as its status tells; the replicas that its template asks for are noted on it."""
    metadata = body["metadata"]
    annotations = {**metadata.get("annotations", {}), TEMPLATE_REPLICAS: str(body["spec"]["replicas"])}
    body = {**body, "metadata": {**metadata, "annotations": annotations}}
    ready = "readyReplicas" if body["kind"] == "PodClique" else "availableReplicas"
    known = found is not None and is_looked_at(found)
    # A scaling group whose turn has come has another annotation, which is no new generation.
    turned = found is not None and status_of(found).get(CURRENT) == template_of(found)
    return Part(
        body,
        found,
        body["spec"]["minAvailable"],
        count(found, ready) if known else 0,
        count(found, "updatedReplicas") if known and turned else 0,
        found is not None and is_applied(Apply(body, _SCALED), found),
    )


def template_of(found: Stored[Any]) -> str | None:
    """The digest of the templates whose turn it is in a scaling group; None for a PodClique."""
    annotations: dict[str, str] = found.content.metadata.annotations
    return annotations.get(TEMPLATE)


def is_there(each: Part, owner: Stored[Any]) -> bool:
    """Whether a part exists and is controlled by its owner."""
    found = each.found
    return found is not None and not is_going(found) and is_controlled_by(found, owner)


def is_available(parts: Iterable[Part]) -> bool:
    """Whether as many of each part are ready as must be."""
    return all(each.found is not None and each.ready >= each.least for each in parts)


def is_updated(parts: Iterable[Part]) -> bool:
    """Whether each part is as its template is now, all of its replicas included."""
    return all(
        each.found is not None and each.current and each.updated >= _replicas(each.found) for each in parts
    )


def writes(replicas: Sequence[Sequence[Part]], owner: Stored[Any], *, held: bool = False) -> Iterator[Write]:
    """Bring the parts of several replicas to what they should be.

    What is missing is made. A replica that is not available is changed at once, and one that is while all
    others are available and up to date, so that one at a time is out of service. ``held`` changes none.
    """
    available = [is_available(parts) for parts in replicas]
    outdated = [i for i, parts in enumerate(replicas) if not is_updated(parts)]
    begun = (i for i in outdated if any(each.current for each in replicas[i]))
    turn = next(begun, outdated[0] if outdated else None)
    for i, parts in enumerate(replicas):
        allowed = not held and (not available[i] or (i == turn and all(available)))
        for each in parts:
            yield from _write(each, owner, allowed=allowed)


def _write(each: Part, owner: Stored[Any], *, allowed: bool) -> Iterator[Write]:
    found = each.found
    if found is None:
        yield Apply(each.body, _SCALED)
    elif not is_there(each, owner):
        # Somebody else's, or on its way out: it is made when the name is free.
        yield Delete(found.key, found.content.metadata.uid)
    elif allowed or each.current:
        asked = int(each.body["metadata"]["annotations"][TEMPLATE_REPLICAS])
        if found.content.metadata.annotations.get(TEMPLATE_REPLICAS) != str(asked):
            yield Patch(found.key, {"spec": {"replicas": asked}}, uid=found.content.metadata.uid)
        yield Apply(each.body, _SCALED)


def _replicas(found: Stored[Any]) -> int:
    replicas = found.content.spec.replicas
    return 1 if replicas is None else int(replicas)


def deleted(cliques: Iterable[Stored[PodClique]]) -> Iterator[Write]:
    """Let go of parts that are not going already."""
    return (Delete(each.key, each.content.metadata.uid) for each in cliques if not is_going(each))
