"""Workloads said over again in the words of another family, from what the hub knows of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from closeknit.dialects.family import Dialect, Object
from closeknit.dialects.reading import Gathered, gather
from closeknit.dialects.translate.name_conflicts import (
    TOPOLOGIES,
    Renamed,
    Written,
    called,
    is_of_topology,
    other_names,
)
from closeknit.dialects.wire.sources import Located, Source
from closeknit.hub.problems import InvalidError, Problem, as_told, shown, suggestion
from closeknit.hub.topology import Topology
from closeknit.hub.workload import ObjectName, Workload

TARGETS = ("kai", "grove", "podgang", "kueue", "pods")
"""What can be translated to."""
_ON_THE_WAY = {"podgang": "grove", "pods": "kai"}
"""Targets that are no family of their own, and the family whose objects lead to them."""
_AMONG = {"pods": "Pod"}
"""Targets that stand among the objects of that family, and their kind."""


class SayingOver:
    """Says workloads in the words of a target's family, beside all that is written already."""

    def __init__(
        self, dialects: Sequence[Dialect], found: Gathered, target: str, written: Written, *, lenient: bool
    ) -> None:
        self._dialects = dialects
        self._found = found
        self._target = target
        self._written = written
        self._lenient = lenient
        family = _ON_THE_WAY.get(target, target)
        speakers = (one for one in dialects if one.name == family and one.express is not None)
        self._speaker = next(speakers, None)

    def said(
        self, dialect: Dialect, workloads: Sequence[Workload]
    ) -> Iterator[Object | Located | ObjectName | Renamed]:
        """What becomes of a dialect's workloads; a name stands for one that nothing became of."""
        for workload in workloads:
            if self._speaker is None:
                yield self._impossible(dialect, workload)
                continue
            nothing = True
            for result in self._told_apart(self._speaker, workload):
                nothing = False
                if not isinstance(result, dict) or self._written.take(result, workload.object):
                    yield result
            if nothing:
                yield workload.object

    def _told_apart(self, speaker: Dialect, workload: Workload) -> Iterator[Object | Located | Renamed]:
        """A workload in other words, under another name or with its topology under another if need be."""
        assert workload.request is not None
        layout = workload.request.topology
        topologies = dict(self._found.seen_by[workload.dialect].topologies)
        names = other_names(workload.object.name, workload.object.kind.lower())
        layout_names = other_names(layout or "", workload.dialect)
        named = workload
        renamed: dict[str, Renamed] = {}
        while True:
            assert named.request is not None
            results = list(self._said_over(speaker, workload, named, topologies))
            objects = [each for each in results if isinstance(each, dict)]
            rivals = list(self._written.rivals(objects, workload.object))
            if not rivals:
                yield from renamed.values()
                yield from results
                return
            here = named.request.topology
            of_layout = [made for made, _ in rivals if here is not None and is_of_topology(made, here)]
            if here is not None and of_layout:
                name = next(layout_names)
                topologies[name] = replace(topologies[here], name=name)
                named = replace(named, request=replace(named.request, topology=name))
                renamed["topology"] = Renamed(workload.object, name, topology=layout or "")
            others = [other for made, other in rivals if made not in of_layout]
            if others:
                name = next(names)
                named = called(named, name)
                renamed["name"] = Renamed(workload.object, name, other=others[0])

    def _said_over(
        self, speaker: Dialect, workload: Workload, named: Workload, topologies: Mapping[str, Topology]
    ) -> Iterator[Object | Located]:
        """A workload in the words of the target's family, or what these words cannot say.

        ``named`` is the same workload under the name that it is written with.
        """
        assert speaker.express is not None
        try:
            said = list(speaker.express(named, topologies))
        except InvalidError as error:
            yield from (self._unsaid(workload, speaker.name, problem) for problem in error.problems)
            return
        if speaker.name == self._target:
            yield from said
        elif self._target in _AMONG:
            yield from (made for made in said if made["kind"] == _AMONG[self._target])
        else:
            # Values in a row are read as JSON, which is faster than YAML.
            again = Source(f"<{speaker.name}>", "\n".join(json.dumps(made) for made in said).encode())
            further = gather(self._dialects, [again], lenient=self._lenient)
            view = further.seen_by[speaker.name]
            yield from (self._unsaid(workload, speaker.name, one.problem) for one in further.problems)
            # Nobody else writes topology and pods of a set that is only on the way, and gangs name both.
            yield from (made for made in said if made["kind"] in TOPOLOGIES)
            for step in (self._target, "pods"):
                yield from speaker.translations[step](further.manifests, view)

    def _impossible(self, dialect: Dialect, workload: Workload) -> Located:
        """A target for which nobody has words, and those that there are."""
        speakers = {one.name for one in self._dialects if one.express is not None}
        possible = [
            each
            for each in TARGETS
            if each in dialect.translations or _ON_THE_WAY.get(each, each) in speakers
        ]
        what = f"{workload.object.kind} {shown(workload.object.name)} cannot be translated to {self._target}."
        return at(self._found, workload, f"{what} {suggestion('', possible)}")

    def _unsaid(self, workload: Workload, family: str, problem: Problem) -> Located:
        """What the target has no words for."""
        name = workload.object
        message = f"{name.kind} {shown(name.name)} cannot be said in the words of {family}: {problem.message}"
        return at(self._found, workload, message)


def at(found: Gathered, workload: Workload, message: str) -> Located:
    """A problem with translating a workload, at the object that asks for it."""
    origin = found.manifests.origin(workload.object)
    return replace(origin.located(as_told("metadata.name", message)), object=workload.object)
