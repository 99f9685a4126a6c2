"""Workloads restated in the words of another family, from what the hub knows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from closeknit.dialects.compiling import render_object, topologies_of
from closeknit.dialects.family import Family, Object
from closeknit.dialects.ownership import objects_for
from closeknit.dialects.reading import Gathered, gather, load_documents
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.translate.name_conflicts import (
    TOPOLOGIES,
    Renamed,
    Written,
    called,
    is_of_topology,
    other_names,
    plainly_named,
)
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Code, Fact, InvalidError, Problem
from closeknit.hub.sentences import wire as sentences
from closeknit.hub.topology import Topology
from closeknit.hub.workload import ObjectName, PlaceableWorkload, Workload
from closeknit.text.documents import Document, Located

NAME: Path = ("metadata", "name")
"""Where a problem with a whole workload is reported."""
_ON_THE_WAY = {"podgang": "grove", "pods": "kai"}
"""Targets that are no family of their own, and the family whose objects lead to them."""
_AMONG = {"pods": "Pod"}
"""Targets that stand among the objects of that family, and their kind."""


def targets_of(families: Sequence[Family]) -> tuple[str, ...]:
    """What can be translated to: families that have words for any request, and what they write on the way."""
    named = [(one.name, *one.render) for one in families if one.express is not None]
    found = dict.fromkeys(target for targets in named for target in targets)
    # Parts of what is written for others come last.
    return (*(each for each in found if each not in _AMONG), *(each for each in found if each in _AMONG))


def by_own_rules(
    family: Family, found: Gathered, target: str
) -> Iterator[tuple[Object | Reported, Key | None]]:
    """What a family's operator makes of its objects, each with the object that it is made from."""
    view = found.loaded.view
    for shape in family.render.get(target, ()):
        for each in objects_for(view, family, shape):
            rendered = view.derive(render_object, family, target, each.key)
            yield from ((each.report(problem), each.key) for problem in rendered.problems)
            yield from ((made, each.key) for made in rendered.objects)


class Restating:
    """Says workloads in the words of a target's family, beside all that is written already."""

    def __init__(self, families: Sequence[Family], found: Gathered, target: str, written: Written) -> None:
        self._families = families
        self._found = found
        self._target = target
        self._written = written
        self._family = _ON_THE_WAY.get(target, target)
        speakers = (one for one in families if one.name == self._family and one.express is not None)
        self._speaker = next(speakers, None)

    def restated(
        self, workloads: Sequence[PlaceableWorkload]
    ) -> Iterator[Object | Located | ObjectName | Renamed]:
        """What becomes of workloads; a name stands for one that nothing became of."""
        for workload in workloads:
            assert self._speaker is not None, "a target is what some family has words for"
            nothing = True
            for result in self._under_free_names(self._speaker, workload):
                nothing = False
                if not isinstance(result, dict) or self._written.take(result, workload.key)[0] is result:
                    yield result
            if nothing:
                yield workload.object

    def _under_free_names(
        self, speaker: Family, workload: PlaceableWorkload
    ) -> Iterator[Object | Located | Renamed]:
        """A workload in other words, under another name or with its topology under another if need be."""
        layout = workload.request.topology
        topologies = dict(self._found.loaded.view.derive(topologies_of, workload.dialect))
        names = other_names(workload.object.name, workload.object.kind.lower())
        layout_names = other_names(layout or "", workload.dialect)
        named = plainly_named(workload)
        renamed: dict[str, Renamed] = {}
        while True:
            results = list(self._expressed(speaker, workload, named, topologies))
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

    def _expressed(
        self,
        speaker: Family,
        workload: PlaceableWorkload,
        named: PlaceableWorkload,
        topologies: Mapping[str, Topology],
    ) -> Iterator[Object | Located]:
        """A workload in the words of the target's family, or what these words cannot say.

        ``named`` is the same workload under the name that it is written with.
        """
        assert speaker.express is not None
        try:
            objects = list(speaker.express(named, topologies))
        except InvalidError as error:
            yield from (self._not_expressible(workload, problem) for problem in error.problems)
            return
        if speaker.name == self._target:
            yield from objects
        elif self._target in _AMONG:
            yield from (made for made in objects if made["kind"] == _AMONG[self._target])
        else:
            documents = [Document("", i, made) for i, made in enumerate(objects)]
            further = gather(
                load_documents(self._families, documents, lenient=self._found.loaded.view.lenient)
            )
            yield from (self._not_expressible(workload, one.problem) for one in further.problems)
            # Nobody else writes topology and pods of a set that is only on the way, and gangs name both.
            yield from (made for made in objects if made["kind"] in TOPOLOGIES)
            for step in (self._target, "pods"):
                for result, _ in by_own_rules(speaker, further, step):
                    if isinstance(result, Reported):
                        yield self._not_expressible(workload, result.problem)
                    else:
                        yield result

    def _not_expressible(self, workload: Workload, problem: Problem) -> Located:
        """What the target has no words for."""
        return self._problem(workload, sentences.NOT_EXPRESSIBLE, family=self._family, problem=problem)

    def _problem(self, workload: Workload, code: Code, **facts: Fact) -> Located:
        name = workload.object
        return at(self._found, workload, code.at(NAME, kind=name.kind, name=name.name, **facts))


def at(found: Gathered, workload: Workload, problem: Problem) -> Located:
    """A problem with translating a workload, at the object that asks for it."""
    located = found.loaded.located(Reported(workload.key, problem))
    return replace(located, object=workload.object)
