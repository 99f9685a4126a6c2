"""ClusterQueues with their flavors and cohorts: what there is to give, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.cohorts import Cohorts, alone_problems, read_cohorts
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.dialects.kueue.quotas import Covered, Quota, QuotaReader
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told, shown, suggestion

_MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
_PROVISIONING = "kueue.x-k8s.io/provisioning-request"
_CHECKS = {_MULTI_KUEUE: "MultiKueue", _PROVISIONING: "ProvisioningRequest"}
_STOPS = ("None", "Hold", "HoldAndDrain")
BROKEN = "it has problems of its own"
"""Why a ClusterQueue that could not be read in full is not active."""
_STOP, _NEXT = "MayStopSearch", "TryNextFlavor"
_PREFERENCES = ("BorrowingOverPreemption", "PreemptionOverBorrowing")


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. Workloads in one that is not active wait, and ``inactive`` says why."""

    name: str
    cohort: str
    """Empty where it has none."""
    covered: tuple[Covered, ...]
    inactive: str = ""
    patient: bool = False
    """Whether the next flavors are tried before quota is borrowed."""

    def quotas(self) -> Iterator[Quota]:
        """All quotas of all groups of resources."""
        return (quota for group in self.covered for quota in group.quotas)


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues by name; LocalQueues by namespace and name."""

    cluster: Mapping[str, Queue]
    local: Mapping[tuple[str, str], wire.LocalQueue]
    cohorts: Cohorts


def read_queues(manifests: View, flavors: Mapping[str, Flavor], found: list[Reported]) -> Queues:
    """All queues, with every problem of theirs."""
    known = {one.name for one in manifests.keys(wire.ResourceFlavor)}
    quotas = QuotaReader(flavors, known)
    cohorts = read_cohorts(manifests, quotas, found)
    checks = {check.name: check.content.spec.controller_name for check in manifests.of(wire.AdmissionCheck)}
    cluster: dict[str, Queue] = {}
    for manifest in manifests.of(wire.ClusterQueue):
        problems: list[Problem] = []
        spec = manifest.content.spec
        cohort = spec.cohort_name or spec.cohort
        if spec.cohort_name and spec.cohort and spec.cohort != spec.cohort_name:
            problems.append(
                as_told("spec.cohort", "cohortName stands here as well, and differs. Leave this out.")
            )
        covered = quotas.read(spec.resource_groups, problems)
        if not cohort:
            problems.extend(alone_problems(spec.resource_groups, "in a cohort", "cohortName"))
        problems.extend(_word_problems(spec))
        inactive = f"its stopPolicy is {spec.stop_policy}" if spec.stop_policy in _STOPS[1:] else ""
        if cohorts.is_circular(cohort):
            inactive = f"cohort {shown(cohort)} lies in a circle of cohorts"
        patient = spec.flavor_fungibility.when_can_borrow == _NEXT
        queue = Queue(manifest.name, cohort, covered, inactive, patient)
        problems.extend(_check_problems(spec, queue, checks, known=bool(checks)))
        found.extend(manifest.report(problem) for problem in problems)
        if problems or manifest.problems:
            queue = replace(queue, inactive=BROKEN)
        cluster[manifest.name] = queue
        if cohort:
            cohorts.join(cohort, covered)
    return Queues(cluster, _local_queues(manifests, cluster, found), cohorts)


def _word_problems(spec: wire.ClusterQueueSpec) -> Iterator[Problem]:
    """Words that are none of those that a field takes."""
    fungibility = spec.flavor_fungibility
    path = "spec.flavorFungibility"
    for where, found, allowed in (
        ("spec.stopPolicy", spec.stop_policy, _STOPS),
        (f"{path}.whenCanBorrow", fungibility.when_can_borrow, (_STOP, _NEXT, "Borrow")),
        (f"{path}.whenCanPreempt", fungibility.when_can_preempt, (_STOP, _NEXT, "Preempt")),
        (f"{path}.preference", fungibility.preference, _PREFERENCES),
    ):
        if found and found not in allowed:
            yield as_told(where, f"{shown(found)} is not known. {suggestion(found, allowed)}")
    both = (fungibility.when_can_borrow, fungibility.when_can_preempt or _NEXT)
    if fungibility.preference and both != (_NEXT, _NEXT):
        message = (
            f"This counts only where whenCanBorrow and whenCanPreempt are {_NEXT}. Set both, or leave it out."
        )
        yield as_told(f"{path}.preference", message)


def _local_queues(
    manifests: View, cluster: Mapping[str, Queue], found: list[Reported]
) -> dict[tuple[str, str], wire.LocalQueue]:
    existing = {one.name for one in manifests.keys(wire.ClusterQueue)}
    local: dict[tuple[str, str], wire.LocalQueue] = {}
    for manifest in manifests.of(wire.LocalQueue):
        spec = manifest.content.spec
        local[manifest.namespace, manifest.name] = manifest.content
        if spec.cluster_queue not in existing:
            name = spec.cluster_queue
            said = f"There is no ClusterQueue {shown(name)}." if name else "The ClusterQueue is missing."
            message = f"{said} {suggestion(name, cluster) if cluster else 'Give it as well.'}"
            found.append(manifest.report(as_told("spec.clusterQueue", message)))
        if spec.stop_policy and spec.stop_policy not in _STOPS:
            message = f"{shown(spec.stop_policy)} is not known. {suggestion(spec.stop_policy, _STOPS)}"
            found.append(manifest.report(as_told("spec.stopPolicy", message)))
    return local


def _check_problems(
    spec: wire.ClusterQueueSpec, queue: Queue, checks: Mapping[str, str], *, known: bool
) -> Iterator[Problem]:
    """Checks that somebody else must pass cannot be waited for when pods are placed by topology here."""
    if not any(quota.flavor.topology for quota in queue.quotas()):
        return
    named = [(f"spec.admissionChecks[{i}]", name) for i, name in enumerate(spec.admission_checks)]
    path = "spec.admissionChecksStrategy.admissionChecks"
    named.extend(
        (f"{path}[{i}].name", rule.name)
        for i, rule in enumerate(spec.admission_checks_strategy.admission_checks)
    )
    for where, name in named:
        if name not in checks and known:
            yield as_told(where, f"There is no AdmissionCheck {shown(name)}. {suggestion(name, checks)}")
        elif checks.get(name) in _CHECKS:
            yield as_told(
                where,
                f"{_CHECKS[checks[name]]} checks are not supported in a ClusterQueue with a topology."
                " Use a queue of its own for them.",
            )
