"""ClusterQueues with their flavors and cohorts: what there is to give, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.dialects.kueue.quotas import Covered, Quota, read_groups
from closeknit.dialects.manifests import Manifest, Manifests
from closeknit.dialects.places import Located
from closeknit.hub.problems import Problem, shown, suggestion
from closeknit.hub.resources import Resources

_MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
_PROVISIONING = "kueue.x-k8s.io/provisioning-request"
_CHECKS = {_MULTI_KUEUE: "MultiKueue", _PROVISIONING: "ProvisioningRequest"}
_STOPS = ("None", "Hold", "HoldAndDrain")


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. Workloads in one that is not active wait, and ``inactive`` says why."""

    name: str
    cohort: str
    """The outermost of its cohorts; empty where it has none."""
    covered: tuple[Covered, ...]
    inactive: str = ""

    def quotas(self) -> Iterator[Quota]:
        """All quotas of all groups of resources."""
        return (quota for group in self.covered for quota in group.quotas)


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues by name; LocalQueues by namespace and name."""

    cluster: Mapping[str, Queue]
    local: Mapping[tuple[str, str], wire.LocalQueue]
    pools: Mapping[tuple[str, str], Resources]
    """By cohort and flavor, what its queues have together."""


def read_queues(manifests: Manifests, flavors: Mapping[str, Flavor], found: list[Located]) -> Queues:
    """All queues, with every problem of theirs."""
    roots = _cohort_roots(manifests, found)
    checks = {check.name: check.content.spec.controller_name for check in manifests.of(wire.AdmissionCheck)}
    known_flavors = {one.name for one in manifests.named(wire.ResourceFlavor)}
    cluster: dict[str, Queue] = {}
    pools: dict[tuple[str, str], Resources] = {}
    for manifest in manifests.of(wire.ClusterQueue):
        problems: list[Problem] = []
        spec = manifest.content.spec
        cohort = spec.cohort_name or spec.cohort
        if spec.cohort_name and spec.cohort and spec.cohort != spec.cohort_name:
            problems.append(
                Problem("spec.cohort", "cohortName stands here as well, and differs. Leave this out.")
            )
        covered = read_groups(spec.resource_groups, flavors, known_flavors, problems)
        if not cohort:
            problems.extend(_alone_problems(spec.resource_groups))
        if spec.stop_policy and spec.stop_policy not in _STOPS:
            message = f"{shown(spec.stop_policy)} is not known. {suggestion(spec.stop_policy, _STOPS)}"
            problems.append(Problem("spec.stopPolicy", message))
        inactive = f"its stopPolicy is {spec.stop_policy}" if spec.stop_policy in _STOPS[1:] else ""
        queue = Queue(manifest.name, roots.get(cohort, cohort), covered, inactive)
        problems.extend(_check_problems(spec, queue, checks, known=bool(checks)))
        found.extend(manifest.located(problem) for problem in problems)
        if problems or manifest.problems:
            queue = Queue(queue.name, queue.cohort, covered, "it has problems of its own")
        cluster[manifest.name] = queue
        if queue.cohort:
            _add_to_pools(pools, queue.cohort, covered)
    for given in manifests.of(wire.Cohort):
        quiet: list[Problem] = []
        covered = read_groups(given.content.spec.resource_groups, flavors, known_flavors, quiet)
        _add_to_pools(pools, roots.get(given.name, given.name), covered)
        found.extend(given.located(problem) for problem in quiet)
    local = _local_queues(manifests, cluster, found)
    return Queues(cluster, local, pools)


def _add_to_pools(pools: dict[tuple[str, str], Resources], cohort: str, covered: tuple[Covered, ...]) -> None:
    for group in covered:
        for quota in group.quotas:
            key = (cohort, quota.flavor.name)
            pools[key] = pools.get(key, Resources()) + quota.nominal


def _local_queues(
    manifests: Manifests, cluster: Mapping[str, Queue], found: list[Located]
) -> dict[tuple[str, str], wire.LocalQueue]:
    existing = {one.name for one in manifests.named(wire.ClusterQueue)}
    local: dict[tuple[str, str], wire.LocalQueue] = {}
    for manifest in manifests.of(wire.LocalQueue):
        spec = manifest.content.spec
        local[manifest.namespace, manifest.name] = manifest.content
        if spec.cluster_queue not in existing:
            name = spec.cluster_queue
            said = f"There is no ClusterQueue {shown(name)}." if name else "The ClusterQueue is missing."
            message = f"{said} {suggestion(name, cluster)}"
            found.append(manifest.located(Problem("spec.clusterQueue", message)))
        if spec.stop_policy and spec.stop_policy not in _STOPS:
            message = f"{shown(spec.stop_policy)} is not known. {suggestion(spec.stop_policy, _STOPS)}"
            found.append(manifest.located(Problem("spec.stopPolicy", message)))
    return local


def _alone_problems(groups: list[wire.ResourceGroup]) -> Iterator[Problem]:
    for i, group in enumerate(groups):
        for j, flavor in enumerate(group.flavors):
            for k, each in enumerate(flavor.resources):
                path = f"spec.resourceGroups[{i}].flavors[{j}].resources[{k}]"
                for field, written in (
                    ("borrowingLimit", each.borrowing_limit),
                    ("lendingLimit", each.lending_limit),
                ):
                    if written is not None:
                        message = "This counts in a cohort only. Name one in cohortName, or leave it out."
                        yield Problem(f"{path}.{field}", message)


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
            yield Problem(where, f"There is no AdmissionCheck {shown(name)}. {suggestion(name, checks)}")
        elif checks.get(name) in _CHECKS:
            yield Problem(
                where,
                f"{_CHECKS[checks[name]]} checks are not supported in a ClusterQueue with a topology."
                " Use a queue of its own for them.",
            )


def _cohort_roots(manifests: Manifests, found: list[Located]) -> dict[str, str]:
    """The outermost cohort of each; everything in one tree is lent within it."""
    cohorts: dict[str, Manifest[wire.Cohort]] = {each.name: each for each in manifests.of(wire.Cohort)}
    parents = {name: _parent(each.content) for name, each in cohorts.items()}
    roots: dict[str, str] = {}
    for name in parents:
        trail = [name]
        while (above := parents.get(trail[-1], "")) and above not in trail:
            trail.append(above)
        roots[name] = trail[-1] if not above else min(trail)
        if above == name:
            written = " > ".join(shown(step) for step in (*trail, name))
            message = f"These cohorts are each other's parents: {written}. Let one of them have no parent."
            found.append(cohorts[name].located(Problem("spec.parentName", message)))
    return roots


def _parent(cohort: wire.Cohort) -> str:
    return cohort.spec.parent_name or cohort.spec.parent
