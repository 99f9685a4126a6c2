"""From files to hub: fill a store, compile every object in it, and put together what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from closeknit.apis import core_v1
from closeknit.apis.pod_makers import PodMaker
from closeknit.dialects.compiling import check_object, compile_object, to_place
from closeknit.dialects.core import kinds as core_kinds
from closeknit.dialects.core.namespaces import by_name
from closeknit.dialects.core.node_amounts import held_for, read_node
from closeknit.dialects.core.notes import not_in_sight
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.core.priority import queue_order
from closeknit.dialects.disambiguation import Topologies, Workloads
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import Claim, claim_of, indexes_of, objects_for, pod_of
from closeknit.dialects.store.objects import Reported, Stored, Unreadable
from closeknit.dialects.store.store import Store
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE, Kind, Origin, Replaced, Skipped
from closeknit.dialects.wire.registry import Found, Registry
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.nodes import Node
from closeknit.hub.problems import OneOf, Problem, Severity
from closeknit.hub.sentences import core as sentences
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload, Workload
from closeknit.text.documents import Document, Located, Served, Source, parse

SCHEDULERS = "closeknit.dev/schedulers"
"""The annotation of a List that was taken from a live cluster: the schedulers whose pods are ours to bind."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was found in a bag of documents."""

    cluster: Cluster
    """Topologies, nodes, and what bound and unfinished pods hold."""
    workloads: tuple[Workload, ...]
    """In queue order: priority, then creation time, then name. An invalid one has no request."""
    problems: tuple[Located, ...]
    """All problems of all documents, each once, in the order of the documents."""
    skipped: tuple[Skipped, ...] = ()
    """Documents of kinds that nobody here reads."""
    notes: tuple[Located, ...] = ()
    """What is worth knowing about objects that ask for nothing now."""
    replaced: tuple[Replaced, ...] = ()
    """Objects of a cluster in whose place those of files were read."""
    live: frozenset[Key] = frozenset()
    """The keys of workloads that come from a cluster."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Files in a store."""

    view: View
    origins: Mapping[Key, Origin]
    """The place of each object in the files."""
    problems: tuple[Located, ...]
    """What is wrong with the text and the shape of documents."""
    skipped: tuple[Skipped, ...]
    replaced: tuple[Replaced, ...] = ()
    sources: Sequence[str] = ()
    """The names of the files, in their order."""
    notes: tuple[Located, ...] = ()
    """What is worth knowing about the text of documents."""

    def located(self, reported: Reported) -> Located:
        """A problem of an object, with its place."""
        entry = self.view.entry(reported.key)
        assert entry is not None
        return self.origins[reported.key].located(reported.problem, entry.object)

    def in_order(self, problems: Iterable[Located]) -> tuple[Located, ...]:
        """Problems in the order of the documents they were found in."""
        places = {source: i for i, source in reversed(list(enumerate(self.sources)))}
        return tuple(sorted(problems, key=lambda found: (places[found.source], found.document or 0)))


@dataclass(frozen=True, slots=True)
class Gathered:
    """What files ask for, before names are made unique."""

    loaded: Loaded
    nodes: Mapping[str, Node]
    pods: Sequence[tuple[Claim, ReadPod]]
    workloads: Sequence[Workload]
    """Under the names that they have in their own family."""
    holdings: Sequence[tuple[str, Holding]]
    """What families hold for pods that are not there yet."""
    problems: Sequence[Located]
    notes: Sequence[Located]


def load(
    families: Sequence[Family],
    sources: Sequence[Source | Served],
    *,
    lenient: bool = False,
    partial: bool = False,
    existing: Collection[Key] = (),
    schedulers: Collection[str] = (),
) -> Loaded:
    """Put every object of the sources into a store, what files hold before what a cluster serves.

    ``partial``, ``existing`` and ``schedulers`` are those of ``closeknit.dialects.read``.
    """
    unread: list[Located] = []
    live = [source for source in sources if isinstance(source, Served)]
    files = [source for source in sources if isinstance(source, Source)]
    namespace = next((each.namespace for each in live), DEFAULT_NAMESPACE)
    documents = _documents([*files, *live], unread)
    whole = bool(live) or not partial
    loaded = load_documents(families, documents, lenient=lenient, partial=not whole, namespace=namespace)
    loaded.view.existing = frozenset(existing)
    if schedulers and loaded.view.schedulers is not None:
        loaded.view.schedulers = frozenset(schedulers)
    loaded.view.meant = frozenset(schedulers)
    names = [source.name for source in sources]
    notes = tuple(each for each in unread if each.problem.severity is Severity.NOTE)
    problems = (*(each for each in unread if each not in notes), *loaded.problems)
    return replace(loaded, problems=problems, sources=names, notes=notes)


def kinds_of(families: Sequence[Family]) -> list[Kind]:
    """Every kind that is read."""
    return list(dict.fromkeys([*core_kinds.KINDS, *(kind for family in families for kind in family.kinds)]))


def registry_of(families: Sequence[Family]) -> Registry:
    """Recognises the kinds of these families, and those that they pass over."""
    return Registry(
        kinds_of(families), [core_kinds.PASSED_OVER, *(family.passed_over for family in families)]
    )


def load_documents(
    families: Sequence[Family],
    documents: Iterable[Document],
    *,
    lenient: bool,
    partial: bool = False,
    namespace: str = DEFAULT_NAMESPACE,
) -> Loaded:
    """Put every object of plain documents into a store."""
    registry = registry_of(families)
    problems: list[Located] = []
    skipped: list[Skipped] = []
    replaced: list[Replaced] = []
    origins: dict[Key, Origin] = {}
    store, schedulers = Store(indexes_of(families)), list[str]()
    named = _noting_cluster(documents, schedulers)
    for found in registry.objects(named, lenient=lenient, namespace=namespace):
        match found:
            case Located():
                problems.append(found)
            case Skipped():
                skipped.append(found)
            case Replaced():
                replaced.append(found)
            case Found():
                origins[found.key] = found.origin
                store.put(stored(found))
    live = frozenset(schedulers) if schedulers else None
    view = View(store, families, lenient=lenient, partial=partial, schedulers=live)
    return Loaded(view, origins, tuple(problems), tuple(skipped), tuple(replaced))


def _noting_cluster(documents: Iterable[Document], schedulers: list[str]) -> Iterator[Document]:
    """The same documents; where one says that it shows a live cluster, also whose pods are bound there."""
    for document in documents:
        content = document.content
        if isinstance(content, dict) and content.get("kind") == "List":
            metadata = content.get("metadata")
            annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
            named = annotations.get(SCHEDULERS) if isinstance(annotations, dict) else None
            if isinstance(named, str):
                schedulers.extend(filter(None, named.split(",")))
        yield document


def stored(found: Found) -> Stored[core_v1.Pod] | Unreadable:
    """An object as the store keeps it."""
    if found.content is None:
        return Unreadable(found.key, found.object, found.kind.shape, found.problems)
    bare = found.origin.own_file is not None
    return Stored(
        found.key, found.object, found.content, found.problems, found.written, bare, found.origin.live
    )


def reading_of(loaded: Loaded) -> Reading:
    """Everything that was found in files; the promises are those of ``closeknit.dialects.read``."""
    found = gather(loaded)
    topologies = Topologies(loaded.view)
    placed = [to_place(loaded.view, each) for each in found.workloads]
    workloads = Workloads(loaded.view.families, topologies, placed)
    unsaid = (
        loaded.located(Reported(after.key, problem))
        for before, after in zip(found.workloads, placed, strict=True)
        if isinstance(before, PlaceableWorkload) and not isinstance(after, PlaceableWorkload)
        for problem in after.problems
    )
    held = ((workloads.holder(claim), pod) for claim, pod in found.pods)
    return Reading(
        cluster=Cluster(
            topologies=topologies.everything(),
            nodes=tuple(found.nodes[name] for name in sorted(found.nodes)),
            holdings=(
                *_holdings(loaded.view, held),
                *(
                    replace(each, workload=workloads.named(family, each.workload))
                    for family, each in found.holdings
                ),
            ),
        ),
        workloads=tuple(sorted(workloads.everything(), key=queue_order)),
        problems=loaded.in_order([*found.problems, *unsaid]),
        skipped=found.loaded.skipped,
        notes=loaded.in_order(found.notes),
        replaced=loaded.replaced,
        live=frozenset(each.key for each in found.workloads if loaded.origins[each.key].live),
    )


def gather(loaded: Loaded) -> Gathered:
    """Compile all objects of a store."""
    view, families = loaded.view, loaded.view.families
    reported: list[Reported] = []
    noted: list[Reported] = []
    nodes = _nodes(view, reported)
    for family in families:
        reported.extend(view.derive(family.topologies).problems)
    pods = _pods(view, reported)
    workloads: list[Workload] = []
    holdings: list[tuple[str, Holding]] = []
    for family in families:
        for workload in _workloads(view, family, reported, noted, holdings):
            if isinstance(workload, PlaceableWorkload):
                workloads.append(workload)
            else:
                in_file = loaded.origins[workload.key].in_file
                workloads.append(replace(workload, problems=tuple(map(in_file, workload.problems))))
    loaded = replace(loaded, skipped=(*loaded.skipped, *_nobodys(loaded, workloads, [*reported, *noted])))
    problems = [*loaded.problems, *map(loaded.located, reported)]
    notes = [*loaded.notes, *map(loaded.located, noted)]
    return Gathered(
        loaded=loaded,
        nodes=nodes,
        pods=pods,
        workloads=workloads,
        holdings=holdings,
        problems=[each for each in problems if not each.is_note],
        notes=[*(each for each in problems if each.is_note), *notes],
    )


def _nobodys(loaded: Loaded, workloads: Iterable[Workload], told: Iterable[Reported]) -> Iterator[Skipped]:
    """Objects of kinds that families could read, and none does: passed over like kinds that nobody reads."""
    taken = {each.key for each in workloads} | {each.key for each in told}
    for each in loaded.view.of(PodMaker):
        if each.key not in taken:
            origin, name = loaded.origins[each.key], each.object
            yield Skipped(origin.source, origin.document, name.api_version, name.kind)


def _workloads(
    view: View,
    family: Family,
    reported: list[Reported],
    noted: list[Reported],
    holdings: list[tuple[str, Holding]],
) -> Iterator[Workload]:
    """The workloads of a family; what is wrong with its objects is added to ``reported``."""
    for shape in family.check:
        for each in objects_for(view, family, shape):
            reported.extend(map(each.report, check_object(view, family, each.key)))
    for shape in family.compile:
        for each in objects_for(view, family, shape):
            compiled = view.derive(compile_object, family, each.key)
            reported.extend(map(each.report, compiled.problems))
            reported.extend(compiled.elsewhere)
            noted.extend(map(each.report, compiled.notes))
            holdings.extend((family.name, held) for held in compiled.holdings)
            yield from compiled.workloads
    for kind in family.kinds:
        for broken in view.unreadable(kind.shape) if kind.workload else ():
            yield InvalidWorkload(broken.object, family.name, broken.problems, maker=broken.key)


def _documents(sources: Iterable[Source | Served], problems: list[Located]) -> Iterator[Document]:
    for source in sources:
        for result in parse(source):
            if isinstance(result, Located):
                problems.append(result)
            else:
                yield result


def _nodes(view: View, reported: list[Reported]) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for each in view.of(core_v1.Node):
        found: list[Problem] = []
        nodes[each.name] = read_node(view, each, found)
        reported.extend(map(each.report, found))
    return nodes


def _pods(view: View, reported: list[Reported]) -> list[tuple[Claim, ReadPod]]:
    """All pods with what owns them; without those whose node has gone."""
    pods: list[tuple[Claim, ReadPod]] = []
    nodes = [key.name for key in view.keys(core_v1.Node)]
    known = set(nodes)
    for stored_pod in view.of(core_v1.Pod):
        pod = view.derive(pod_of, stored_pod.key)
        assert pod is not None
        reported.extend(map(stored_pod.report, pod.problems))
        if pod.holds and not by_name(view, pod.shape.neighbour)[1]:
            path = ("spec", "affinity")
            reported.append(stored_pod.report(sentences.NAMESPACES_NOT_IN_SIGHT.at(path).as_note()))
        if not pod.lost:
            pods.append((claim_of(view, stored_pod.key), pod))
        elif pod.node not in known:
            remedy = OneOf.among(pod.node, nodes)
            path = ("spec", "nodeName")
            unknown = sentences.NOT_FOUND.at(path, kind="node", name=pod.node, remedy=remedy)
            reported.append(stored_pod.report(not_in_sight(unknown, view, nodes)))
    return pods


def _holdings(view: View, pods: Iterable[tuple[str, ReadPod]]) -> tuple[Holding, ...]:
    """What pods hold, equal ones of one workload on one node together; in a stable order."""
    counts = Counter(
        held_for(view, pod, workload) for workload, pod in pods if pod.holds and not pod.problems
    )
    holdings = (replace(held, pods=count) for held, count in counts.items())
    return tuple(
        sorted(
            holdings,
            key=lambda held: (
                held.workload,
                held.node,
                tuple(held.resources.items()),
                sorted(held.host_ports),
                held.neighbour.labels,
                repr(held.neighbour.rules),
            ),
        )
    )
