"""The dialects in which manifests ask for closeness: wire shapes in, hub types out.

Pure: bytes and documents come in, values and problems go out. Nothing in this
package opens a file, asks a clock or talks to a cluster.

``read`` is the way in for files. A pod set of the hub carries the name of
the group it belongs to with a number behind a slash (``workers/1``), because groups and
pod sets share one name space; ``group_of`` takes the number off again, for showing it.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from closeknit.dialects.core.naming import group_of
from closeknit.dialects.dynamo import DYNAMO
from closeknit.dialects.family import Family
from closeknit.dialects.grove import GROVE
from closeknit.dialects.inspection import (
    ObjectStatus,
    OperatorSettings,
    Pools,
    Statuses,
    Update,
    operator_settings_of,
    pools_of,
    statuses_of,
    update_between,
)
from closeknit.dialects.kai import KAI
from closeknit.dialects.kubernetes import KUBERNETES
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.lone_pods import LONE_PODS
from closeknit.dialects.osmo import OSMO
from closeknit.dialects.osmo.templates import Filled, Template, Value, filled, templates_in, value_of
from closeknit.dialects.reading import Reading, kinds_of, load, reading_of, registry_of
from closeknit.dialects.translate.other_families import targets_of
from closeknit.dialects.translate.translation import Translation, translate_with
from closeknit.dialects.wire.kinds import Kind, Origin, Replaced, Skipped
from closeknit.hub.keys import Key
from closeknit.text.documents import Located, Served, Source, parse

__all__ = [
    "DIALECTS",
    "KINDS",
    "TARGETS",
    "Family",
    "Filled",
    "Kind",
    "Located",
    "ObjectStatus",
    "OperatorSettings",
    "Origin",
    "Pools",
    "Reading",
    "Replaced",
    "Served",
    "Skipped",
    "Source",
    "Statuses",
    "Template",
    "Translation",
    "Update",
    "Value",
    "compare",
    "filled",
    "group_of",
    "operator_settings",
    "pools",
    "read",
    "statuses",
    "templates_in",
    "translate",
    "value_of",
    "written",
]

DIALECTS: tuple[Family, ...] = (KAI, GROVE, DYNAMO, OSMO, KUEUE, KUBERNETES, LONE_PODS)
"""All families, in the order in which they claim a pod; see ``ownership``."""
KINDS: tuple[Kind, ...] = tuple(kinds_of(DIALECTS))
"""Every kind that is read."""
TARGETS = targets_of(DIALECTS)
"""What can be translated to."""


def read(
    sources: Sequence[Source | Served],
    *,
    lenient: bool = False,
    partial: bool = False,
    existing: Collection[Key] = (),
    schedulers: Collection[str] = (),
) -> Reading:
    """Read plain Kubernetes objects in any mix and order, multi-document YAML or JSON.

    One source may be what a cluster serves. An object that stands in a file as well is read from the file.

    Never raises for anything that a source may contain. Whatever could be
    understood is in the result beside the problems of the rest; a caller that
    wants all or nothing looks at ``problems`` first. ``lenient`` passes over
    fields that are not known and over names that only a whole cluster could resolve (the
    node of a running pod, a PriorityClass, a queue), and tells them as notes. ``partial`` is for
    who places nothing: files without a cluster may name what is in it, so an object of whose kind the files
    have none is a note, and the levels of a topology that they do not have are taken from
    what they ask for. ``existing`` are objects that a cluster has admitted already: what their operator
    merely warns about in an update is a note. ``schedulers`` are the names by which pods mean Closeknit,
    where they are not those that a source tells, or the usual ones.
    """
    with _collector_paused():
        loaded = load(
            DIALECTS, sources, lenient=lenient, partial=partial, existing=existing, schedulers=schedulers
        )
        return reading_of(loaded)


def translate(sources: Sequence[Source], target: str, *, lenient: bool = False) -> Translation:
    """Translate every workload in the sources into the objects of a target.

    Never raises for anything that a source may contain; raises ``InvalidError`` for an
    unknown target. What could not be translated is among the problems. Sources may name what is elsewhere,
    as with ``partial`` of ``read``.
    """
    with _collector_paused():
        return translate_with(DIALECTS, sources, target, lenient=lenient)


def statuses(sources: Sequence[Source | Served], *, lenient: bool = False) -> Statuses:
    """The conditions and events that each object would have, as its own operator would write them.

    Never raises for anything that a source may contain.
    """
    with _collector_paused():
        return statuses_of(load(DIALECTS, sources, lenient=lenient))


def pools(sources: Sequence[Source | Served], *, lenient: bool = False) -> Pools:
    """OSMO's pools with their topology keys, and the nodes that lack a key's label.

    Never raises for anything that a source may contain.
    """
    with _collector_paused():
        return pools_of(load(DIALECTS, sources, lenient=lenient))


def operator_settings(sources: Sequence[Source]) -> OperatorSettings:
    """What operators are installed with: OperatorConfigurations, which no cluster serves.

    Never raises for anything that a source may contain.
    """
    with _collector_paused():
        return operator_settings_of(load(DIALECTS, sources))


def compare(
    old: Sequence[Source | Served], new: Sequence[Source | Served], *, lenient: bool = False
) -> Update:
    """Everything about a change from old objects to new ones that cannot be made in place.

    Never raises for anything that a source may contain. Objects that stand on one side only are
    not compared.
    """
    with _collector_paused():
        before, after = (load(DIALECTS, sources, lenient=lenient) for sources in (old, new))
        return update_between(before, after)


def written(sources: Sequence[Source]) -> Iterator[tuple[Origin, Any] | Located]:
    """Every object in the sources as plain data, with its place, and the problems of what cannot be parsed.

    Lists are taken apart. A file in a format of its own, such as an OSMO workflow, comes as the object that
    carries it.
    """
    registry = registry_of(DIALECTS)
    for source in sources:
        for each in parse(source):
            yield from (each,) if isinstance(each, Located) else registry.written([each])


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Look for no garbage while objects are only added, which would take half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
