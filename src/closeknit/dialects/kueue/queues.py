"""ClusterQueues, Cohorts and LocalQueues: what is wrong with them, and who waits in which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.core_v1 import LabelSelector
from closeknit.dialects.core.neighbours import selector_problems
from closeknit.dialects.core.notes import not_in_sight
from closeknit.dialects.core.priority import priority_of
from closeknit.dialects.kueue import quotas
from closeknit.dialects.kueue.namespaces import namespace_problems
from closeknit.dialects.kueue.queued_workload import QueuedWorkload
from closeknit.dialects.kueue.quotas import Covered, Quota
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, parted, shown, suggestion
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences

PROVISIONING = "kueue.x-k8s.io/provisioning-request"
CHECKS = {PROVISIONING: "ProvisioningRequest"}
"""Controllers of admission checks that cannot be waited for with a topology, and what these are called."""
STOPPED = ("Hold", "HoldAndDrain")
_STOPS = ("None", *STOPPED)
_STOP, _NEXT = "MayStopSearch", "TryNextFlavor"
_STRATEGIES = ("StrictFIFO", "BestEffortFIFO")
_NEVER = ("", "Never")
_WITHIN = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
_RECLAIM = ("Never", "LowerPriority", "Any")
_PREFERENCES = ("BorrowingOverPreemption", "PreemptionOverBorrowing")


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. Workloads in one that is not active wait, and ``inactive`` says why."""

    name: str
    cohort: str
    """Empty where it has none."""
    covered: tuple[Covered, ...]
    inactive: str = ""
    """Shown as it is; empty for an active queue."""
    namespaces: LabelSelector | None = None
    """Whose workloads it takes; nobody's where it has none."""
    strict: bool = False
    """Whether nobody may pass the first who waits (``StrictFIFO``)."""
    patient: bool = False
    """Whether the next flavors are tried before quota is borrowed."""
    preempts: str = "Never"
    """Whom a Workload may displace in this queue (``preemption.withinClusterQueue``)."""
    unseen: tuple[str, ...] = ()
    """Flavors and topologies that it names and that are not in sight, where the cluster may have them."""
    invalid: bool = False
    """Whether the ClusterQueue has problems, so that flavors or quotas of it may be missing here."""

    def quotas(self) -> Iterator[Quota]:
        """All quotas of all groups of resources."""
        return (quota for group in self.covered for quota in group.quotas)


def cluster_queue(view: View, name: str) -> Queue | None:
    """The ClusterQueue of this name; None where there is none, or it cannot be read."""
    stored = view.get(kueue_key("ClusterQueue", name))
    return _queue(stored, view, []) if stored is not None else None


def cluster_queue_problems(stored: Stored[wire.ClusterQueue], view: View) -> list[Problem]:
    """Everything that is wrong with a ClusterQueue."""
    found: list[Problem] = []
    _queue(stored, view, found)
    return found


def _queue(stored: Stored[wire.ClusterQueue], view: View, found: list[Problem]) -> Queue:
    spec = stored.content.spec
    cohort = quotas.cohort_of(spec)
    if spec.cohort_name and spec.cohort and spec.cohort != spec.cohort_name:
        found.append(sentences.BOTH_SPELLINGS.at(("spec", "cohort"), field="cohortName"))
    covered = quotas.resource_groups(spec.resource_groups, view, found)
    if not cohort:
        found.extend(_limit_problems(spec.resource_groups, "in a cohort", "cohortName"))
    found.extend(_word_problems(spec))
    if spec.namespace_selector is not None:
        found.extend(first_of(selector_problems(spec.namespace_selector, ("spec", "namespaceSelector"))))
    inactive = f"its stopPolicy is {spec.stop_policy}" if spec.stop_policy in STOPPED else ""
    if cohort and view.derive(quotas.is_circular, cohort):
        inactive = f"cohort {shown(cohort)} lies in a circle of cohorts"
    for flavor in (quota.flavor for group in covered for quota in group.quotas if quota.flavor.missing):
        inactive = f"there is no usable Topology {shown(flavor.missing)} for flavor {shown(flavor.name)}"
    patient = spec.flavor_fungibility.when_can_borrow == _NEXT
    strict = spec.queueing_strategy == "StrictFIFO"
    queue = Queue(
        stored.name,
        cohort,
        covered,
        inactive,
        spec.namespace_selector,
        strict,
        patient,
        preempts=spec.preemption.within_cluster_queue or "Never",
        unseen=quotas.unseen(spec.resource_groups, view),
    )
    if any(quota.flavor.topology for quota in queue.quotas()):
        found.extend(_check_problems(spec, view))
    if parted(found)[0] or stored.problems:
        return replace(queue, inactive="it has problems of its own", invalid=True)
    return queue


def _word_problems(spec: wire.ClusterQueueSpec) -> Iterator[Problem]:
    """Words that are none of those that a field takes."""
    fungibility, displaced = spec.flavor_fungibility, spec.preemption
    preemption, borrowing = ("spec", "preemption"), ("borrowWithinCohort", "policy")
    path = ("spec", "flavorFungibility")
    for where, found, allowed in (
        (("spec", "stopPolicy"), spec.stop_policy, _STOPS),
        ((*path, "whenCanBorrow"), fungibility.when_can_borrow, (_STOP, _NEXT, "Borrow")),
        ((*path, "whenCanPreempt"), fungibility.when_can_preempt, (_STOP, _NEXT, "Preempt")),
        ((*path, "preference"), fungibility.preference, _PREFERENCES),
        (("spec", "queueingStrategy"), spec.queueing_strategy, _STRATEGIES),
        ((*preemption, "withinClusterQueue"), displaced.within_cluster_queue, _WITHIN),
        ((*preemption, "reclaimWithinCohort"), displaced.reclaim_within_cohort, _RECLAIM),
        ((*preemption, *borrowing), displaced.borrow_within_cohort.policy, ("Never", "LowerPriority")),
    ):
        yield from _unknown_word(where, found, allowed)
    if displaced.borrow_within_cohort.policy == "LowerPriority" and displaced.reclaim_within_cohort in _NEVER:
        yield sentences.BORROWING_WITHOUT_RECLAIM.at((*preemption, *borrowing))
    both = (fungibility.when_can_borrow, fungibility.when_can_preempt or _NEXT)
    if fungibility.preference and both != (_NEXT, _NEXT):
        yield sentences.PREFERENCE_WITHOUT_EFFECT.at((*path, "preference"), word=_NEXT)


def _unknown_word(path: Path, found: str, allowed: tuple[str, ...]) -> Iterator[Problem]:
    if found and found not in allowed:
        yield core.UNKNOWN_CHOICE.at(path, value=found, remedy=OneOf(found, allowed))


def checks_named(spec: wire.ClusterQueueSpec) -> Iterator[tuple[Path, str]]:
    """The admission checks of a ClusterQueue, in both spellings."""
    for i, name in enumerate(spec.admission_checks):
        yield ("spec", "admissionChecks", i), name
    for i, rule in enumerate(spec.admission_checks_strategy.admission_checks):
        yield ("spec", "admissionChecksStrategy", "admissionChecks", i, "name"), rule.name


def _check_problems(spec: wire.ClusterQueueSpec, view: View) -> Iterator[Problem]:
    """Checks that somebody else must pass cannot be waited for when pods are placed by topology here."""
    checks = {check.name: check.content.spec.controller_name for check in view.of(wire.AdmissionCheck)}
    for path, name in checks_named(spec):
        if name not in checks and checks:
            remedy = OneOf.among(name, checks)
            yield core.NOT_FOUND.at(path, kind="AdmissionCheck", name=name, remedy=remedy)
        elif checks.get(name) in CHECKS:
            yield sentences.CHECK_WITH_TOPOLOGY.at(path, check=CHECKS[checks[name]])


def cohort_problems(stored: Stored[wire.Cohort], view: View) -> Iterator[Problem]:
    """Everything that is wrong with a cohort."""
    spec = stored.content.spec
    if spec.parent_name and spec.parent and spec.parent != spec.parent_name:
        yield sentences.BOTH_SPELLINGS.at(("spec", "parent"), field="parentName")
    found: list[Problem] = []
    quotas.resource_groups(spec.resource_groups, view, found, of_cohort=True)
    yield from found
    if not quotas.parent_of(spec):
        yield from _limit_problems(spec.resource_groups, "in a cohort with a parent", "parentName")
    *trail, last = quotas.way_up(view, stored.name)
    if trail and last == stored.name:
        written = " > ".join(map(shown, (*trail, last)))
        yield sentences.COHORTS_IN_CIRCLE.at(("spec", "parentName"), trail=written)


def _limit_problems(groups: Sequence[wire.ResourceGroup], where: str, field: str) -> Iterator[Problem]:
    """Limits of borrowing and lending where there is nobody to borrow from or lend to."""
    for i, group in enumerate(groups):
        for j, flavor in enumerate(group.flavors):
            for k, each in enumerate(flavor.resources):
                path = ("spec", "resourceGroups", i, "flavors", j, "resources", k)
                for limit, given in (
                    ("borrowingLimit", each.borrowing_limit),
                    ("lendingLimit", each.lending_limit),
                ):
                    if given is not None:
                        yield sentences.ALONE.at((*path, limit), where=where, field=field)


def local_queue_problems(stored: Stored[wire.LocalQueue], view: View) -> Iterator[Problem]:
    """Everything that is wrong with a LocalQueue."""
    spec = stored.content.spec
    name, path = spec.cluster_queue, ("spec", "clusterQueue")
    if not view.has(kueue_key("ClusterQueue", name)):
        known = [each.name for each in view.of(wire.ClusterQueue)]
        remedy = suggestion(name, known) if known else "Give it as well."
        if name:
            unknown = sentences.NO_CLUSTER_QUEUE.at(path, queue=name, remedy=remedy)
            yield not_in_sight(unknown, view, known)
        else:
            yield sentences.CLUSTER_QUEUE_MISSING.at(path, remedy=remedy)
    yield from _unknown_word(("spec", "stopPolicy"), spec.stop_policy, _STOPS)


def admission_check_problems(stored: Stored[wire.AdmissionCheck], _: View) -> Iterator[Problem]:
    """Everything that is wrong with an AdmissionCheck."""
    if not stored.content.spec.controller_name:
        yield sentences.NO_CONTROLLER.at(("spec", "controllerName"))


def queue_of(queued: QueuedWorkload, view: View, found: list[Problem]) -> Queue | None:
    """The ClusterQueue behind the name that a workload gives; None where it must do without."""
    path, name = queued.queue_path, queued.queue
    key = kueue_key("LocalQueue", name, queued.object.namespace)
    local = view.get(key) if name else None
    if local is None:
        if name and view.has(key):
            found.append(sentences.LOCAL_QUEUE_UNUSABLE.at(path, queue=name))
        else:
            known = [each.name for each in view.keys(wire.LocalQueue)] if name else [""]
            found.append(not_in_sight(_no_local_queue(queued, view), view, known))
        return None
    queue = view.derive(cluster_queue, local.content.spec.cluster_queue)
    if queue is None:
        known = [each.name for each in view.keys(wire.ClusterQueue)]
        found.append(not_in_sight(sentences.LEADS_NOWHERE.at(path, queue=name), view, known))
        return None
    if queue.unseen:
        found.append(sentences.FLAVORS_NOT_IN_SIGHT.at(path, queue=queue.name, names=queue.unseen))
        return None
    stop = local.content.spec.stop_policy
    # Who is admitted already does not wait for the queue to go on.
    if queued.flavors is None and stop in STOPPED:
        reason = f"its stopPolicy is {stop}"
        found.append(sentences.QUEUE_NOT_ACTIVE.at(path, kind="LocalQueue", queue=name, reason=reason))
    elif queued.flavors is None and queue.inactive:
        facts = {"kind": "ClusterQueue", "queue": queue.name, "reason": queue.inactive}
        found.append(sentences.QUEUE_NOT_ACTIVE.at(path, **facts))
    elif queued.flavors is None:
        found.extend(namespace_problems(queue.name, queue.namespaces, queued.object.namespace, path, view))
    return queue


def _no_local_queue(queued: QueuedWorkload, view: View) -> Problem:
    path, name, namespace = queued.queue_path, queued.queue, queued.object.namespace
    queues = view.of(wire.LocalQueue)
    known = sorted(each.name for each in queues if each.namespace == namespace)
    if not name:
        return sentences.NO_QUEUE_NAMED.at(path, remedy=OneOf.among("", known))
    remedy = (
        suggestion(name, known) if known else "Give it as well, with its ClusterQueue and ResourceFlavors."
    )
    if elsewhere := sorted(each.namespace for each in queues if each.name == name):
        remedy = f"There is one in {shown(elsewhere[0])}; a workload uses the queues of its own namespace."
    return sentences.NO_LOCAL_QUEUE.at(path, queue=name, namespace=namespace, remedy=remedy)


def priority_in_queue(queued: QueuedWorkload, view: View, found: list[Problem]) -> int:
    """Its priority: a number where it gives one; else Kueue's own class goes before the pods'."""
    if queued.priority is not None:
        return queued.priority
    if queued.priority_class:
        return _workload_priority(queued, view, found)
    named = next((each for each in queued.pod_sets if each.priority_class), None)
    path: Path = (*named.path, "spec", "priorityClassName") if named is not None else ()
    return priority_of(view, named.priority_class if named is not None else "", path, found)


def _workload_priority(queued: QueuedWorkload, view: View, found: list[Problem]) -> int:
    name = queued.priority_class
    stored = view.get(kueue_key("WorkloadPriorityClass", name))
    if stored is not None:
        return int(stored.content.value)
    path: Path = ("metadata", "labels", keys.PRIORITY_CLASS)
    if queued.object.kind == "Workload":
        path = ("spec", "priorityClassRef", "name")
    known = [each.name for each in view.of(wire.WorkloadPriorityClass)]
    kind, remedy = "WorkloadPriorityClass", OneOf.among(name, known)
    unknown = core.NOT_FOUND.at(path, kind=kind, name=name, remedy=remedy)
    found.append(not_in_sight(unknown, view, known))
    return 0
