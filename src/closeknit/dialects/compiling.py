"""One object at a time: what a family makes of it, as the view keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeVar

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Wire
from closeknit.dialects.core.claims import resolved
from closeknit.dialects.core.levels import down_to_nodes
from closeknit.dialects.core.namespaces import by_name
from closeknit.dialects.core.notes import binds, left_out
from closeknit.dialects.core.rule_sizes import too_large
from closeknit.dialects.core.zones import within_zones
from closeknit.dialects.family import Compiled, Described, Family, Rendered
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub import request as hub_request
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem, Severity, parted
from closeknit.hub.request import Group, Request
from closeknit.hub.sentences import claims as sentences
from closeknit.hub.sentences import core as core_sentences
from closeknit.hub.topology import Topology
from closeknit.hub.workload import PlaceableWorkload, Workload

_O = TypeVar("_O", bound=KubernetesObject)


def compile_object(view: View, family: Family, key: Key) -> Compiled:
    """What an object asks for; nothing where it is gone or is none of the family's workloads."""
    stored = view.get(key)
    if stored is None or stored.shape not in family.compile:
        return Compiled()
    compiled = _with_notes_apart(family.compile[stored.shape](stored, view))
    if not compiled.workloads:
        return compiled
    topologies = view.derive(topologies_of, family.name)
    sound = tuple(_with_assumption(view, _sound(each, topologies)) for each in compiled.workloads)
    return compiled if sound == compiled.workloads else replace(compiled, workloads=sound)


def place_object(view: View, family: Family, key: Key) -> tuple[Workload, ...]:
    """The workloads of an object, as they are placed."""
    compiled = view.derive(compile_object, family, key)
    return tuple(to_place(view, each) for each in compiled.workloads)


def _with_notes_apart(compiled: Compiled) -> Compiled:
    """The same without notes among its problems: its workloads tell them, or else the object itself."""
    if not compiled.problems and not compiled.elsewhere:
        return compiled
    problems, notes = parted(compiled.problems)
    elsewhere = tuple(each for each in compiled.elsewhere if each.problem.severity is not Severity.NOTE)
    told = () if compiled.workloads else notes
    return replace(compiled, problems=problems, elsewhere=elsewhere, notes=(*compiled.notes, *told))


def check_object(view: View, family: Family, key: Key) -> tuple[Problem, ...]:
    """What is wrong with an object that asks for nothing."""
    stored = view.get(key)
    return tuple(family.check[stored.shape](stored, view)) if stored is not None else ()


def render_object(view: View, family: Family, target: str, key: Key) -> Rendered:
    """What an object becomes for a target, by its own family's rules."""
    stored = view.get(key)
    rules = family.render.get(target, {})
    return rules[stored.shape](stored, view) if stored is not None and stored.shape in rules else Rendered()


def described(
    view: View,
    shape: type[_O],
    problems_of: Callable[[_O], Iterable[Problem]],
    to_topology: Callable[[_O], Topology],
) -> Described:
    """The topologies of all objects of a shape that have no problems, and the problems of the others."""
    found: dict[str, Topology] = {}
    problems: list[Reported] = []
    for stored in view.of(shape):
        wrong = [stored.report(problem) for problem in problems_of(stored.content)]
        problems.extend(wrong)
        if not wrong:
            found[stored.name] = to_topology(stored.content)
    return Described(found, tuple(problems))


@dataclass(frozen=True, slots=True)
class KnownTopologies:
    """The topologies that the objects of a family can name."""

    usable: Mapping[str, Topology]
    broken: AbstractSet[str]
    """Those that exist and have problems of their own."""


def known_topologies(view: View, family: str, *shapes: type[Wire]) -> KnownTopologies:
    """All topologies that a family knows; those of these shapes that it does not know are broken."""
    usable = view.derive(topologies_of, family)
    return KnownTopologies(usable, {key.name for shape in shapes for key in view.keys(shape)} - usable.keys())


def topologies_of(view: View, family: str) -> Mapping[str, Topology]:
    """The topologies that a family knows, by name."""
    found = {each.name: view.derive(each.topologies).topologies for each in view.families}
    return {name: found[describer][name] for name, describer in describers(view, family).items()}


def assumed_of(view: View, family: str) -> AbstractSet[str]:
    """The topologies that a family knows and no object describes."""
    by_name = {each.name: view.derive(each.topologies).assumed for each in view.families}
    return {name for name, describer in describers(view, family).items() if name in by_name[describer]}


def describers(view: View, family: str) -> dict[str, str]:
    """By name of a topology, who describes it: the family itself, one that it borrows from, or any other."""
    by_name = {each.name: each for each in view.families}
    found: dict[str, str] = {}
    for name in (family, *by_name[family].borrows, *by_name):
        for topology in view.derive(by_name[name].topologies).topologies if name in by_name else ():
            found.setdefault(topology, name)
    return found


def to_place(view: View, workload: Workload) -> Workload:
    """A workload in words that can be counted: what its pods claim by name, and no level below hosts.

    What cannot be said of claims is a note, or a problem where pods are bound, which must not be guesswork.
    """
    if not isinstance(workload, PlaceableWorkload):
        return workload
    if wrong := tuple(too_large(workload.request)):
        return workload.invalid(wrong)
    topologies = view.derive(topologies_of, workload.dialect)
    topology = topologies.get(workload.request.topology or "")
    labels = topology.labels if topology is not None else ()
    found: dict[Problem, None] = {}

    def counted(request: Request) -> Request:
        whole = down_to_nodes(request, topology)
        if whole != request:
            found.update(dict.fromkeys(_below_hosts(request, whole)))
            whole = down_to_nodes(within_zones(view, request, topology), topology)
        placed, told = resolved(view, workload.key.namespace, whole, labels)
        placed, known = _with_namespaces(view, placed)
        if not known:
            told = [*told, core_sentences.NAMESPACES_NOT_IN_SIGHT.at()]
        found.update(dict.fromkeys(left_out(told, binding=binds(view))))
        return placed

    request = counted(workload.request)
    if request == workload.request and not found:
        return workload
    options = tuple(replace(each, request=counted(each.request)) for each in workload.options)
    problems, notes = parted(found)
    workload = replace(workload, request=request, options=options, notes=(*workload.notes, *notes))
    return workload.invalid(problems) if problems else workload


def _with_namespaces(view: View, request: Request) -> tuple[Request, bool]:
    """The same with the namespaces that rules about other pods mean, and whether all of these are known."""
    if not any(rule.selector.within for pods in request.root.pod_sets() for rule in pods.neighbour.rules):
        return request, True
    known = all(by_name(view, pods.neighbour)[1] for pods in request.root.pod_sets())
    root = request.root.mapped(lambda pods: replace(pods, neighbour=by_name(view, pods.neighbour)[0]))
    return replace(request, root=root), known


def _below_hosts(before: Request, after: Request) -> Iterator[Problem]:
    for (own, _), (kept, _) in zip(before.root.walk(), after.root.walk(), strict=True):
        if isinstance(own, Group) and isinstance(kept, Group) and own != kept:
            for level in (own.required, own.preferred):
                if level is not None and level not in (kept.required, kept.preferred):
                    yield sentences.KEPT_BY_KUBELETS.at((), level=level, group=own.name)


def _with_assumption(view: View, workload: Workload) -> Workload:
    """A workload that says where the levels of its topology are not those of any object."""
    name = workload.request.topology if isinstance(workload, PlaceableWorkload) and view.partial else None
    if name is None or name not in view.derive(assumed_of, workload.dialect):
        return workload
    topology = view.derive(topologies_of, workload.dialect)[name]
    note = core_sentences.TOPOLOGY_ASSUMED.at((), name=name, levels=topology.labels)
    return replace(workload, notes=(*workload.notes, note))


def _sound(workload: Workload, topologies: Mapping[str, Topology]) -> Workload:
    """A workload whose request the hub accepts; families see to that, and here it is made sure."""
    if not isinstance(workload, PlaceableWorkload):
        return workload
    name = workload.request.topology
    problems = hub_request.problems(workload.request, topologies.get(name) if name is not None else None)
    return workload.invalid(problems) if problems else workload
