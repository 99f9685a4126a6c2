"""What would become of workloads on the cluster as it is, in JSON and in words; asking changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from closeknit.apis import core_v1
from closeknit.dialects import DIALECTS
from closeknit.dialects.disambiguation import Topologies, Workloads
from closeknit.dialects.reading import gather, load
from closeknit.dialects.store.store import Entry
from closeknit.dialects.wire.kinds import Origin
from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed, Undecided, Unplaceable
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler import outcome_json, wording
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.deciding import AnyVerdict, Failed, InvalidVerdict
from closeknit.scheduler.planning import book, decide, plan
from closeknit.server.documents import Explanation, PlanDocument, ProblemRow
from closeknit.text.documents import Source

MANIFEST, CLUSTER = "the manifest", "the cluster"
_BEST = 5


def explain(state: ClusterState, workload: Workload) -> Explanation:
    """What would become of a unit now."""
    if not isinstance(workload, PlaceableWorkload):
        return explanation(InvalidVerdict(workload))
    accounts = Accounts()
    for each in state.units.values():
        book(accounts, each)
    return explanation(decide(state.engine, state.topologies, workload, accounts))


def what_if(state: ClusterState, text: bytes) -> PlanDocument:
    """What would become of manifests of any dialect if they were submitted now, before all that waits.

    Their queues, topologies and priorities are those of the cluster, unless the text brings its own.
    """
    loaded = load(DIALECTS, [Source(MANIFEST, text)])
    view, mine = loaded.view, set(loaded.origins)
    origins = dict(loaded.origins)
    for entry in _context(state.entries()):
        if entry.key not in mine:
            view.put(entry)
            origins[entry.key] = Origin(CLUSTER, None, ())
    gathered = gather(replace(loaded, origins=origins))
    topologies = Topologies(view)
    workloads = [
        each
        for each in Workloads(view.families, topologies, gathered.workloads).everything()
        if each.key in mine
    ]
    problems = [
        ProblemRow(path=found.problem.where, code=found.problem.code.name, message=str(found))
        for found in gathered.problems
        if found.source == MANIFEST
    ]
    everything = topologies.everything()
    known = state.topologies.topologies
    if set(everything) <= set(known):
        with state.engine.fork() as engine:
            verdicts = list(plan(engine, state.topologies, workloads))
    else:
        cluster = Cluster(everything, tuple(state.nodes.values()), tuple(state.all_holdings()))
        verdicts = list(plan(Engine(cluster), cluster, workloads))
    return PlanDocument(outcomes=[explanation(each) for each in verdicts], problems=problems)


def _context(entries: Iterable[Entry]) -> Iterator[Entry]:
    """What workloads may name: everything but nodes, pods and other workloads."""
    asking = {shape for family in DIALECTS for shape in family.compile}
    for entry in entries:
        if entry.shape not in asking and entry.shape not in (core_v1.Node, core_v1.Pod):
            yield entry


def explanation(verdict: AnyVerdict) -> Explanation:
    """A verdict as it is sent."""
    return Explanation(outcome=outcome_json.outcome(verdict), sentences=list(sentences(verdict)))


def sentences(verdict: AnyVerdict) -> Iterator[str]:
    """The same for people, most important first."""
    match verdict.outcome:
        case Placed() as placed:
            yield f"{wording.size(placed)}."
            for group in placed.groups:
                if group.required or group.preferred:
                    yield f"{wording.printable(group.name)}: {wording.reach(group)}."
        case (Unplaceable() | Undecided()) as short_of:
            if isinstance(short_of, Undecided):
                yield "Whether there is a place was not found out within the search budget."
            for short in short_of.shortfalls:
                yield wording.need(short)
                yield from (wording.domain_fit(fit) for fit in short.best[:_BEST])
                yield from map(wording.exclusion, short.excluded)
                request = verdict.workload.request
                yield from (wording.relaxation(each, request) for each in short.relaxations)
        case Failed() | None:
            yield from (wording.printable(str(each)) for each in verdict.problems)
