"""ClusterQueues with their flavors and cohorts: what there is to give, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.core_v1 import Affinity, PodSpec
from closeknit.dialects.amounts import resources
from closeknit.dialects.filters import node_filter, taint
from closeknit.dialects.kueue.topologies import key_problems
from closeknit.dialects.manifests import Manifest, Manifests
from closeknit.dialects.paths import within
from closeknit.dialects.places import Located
from closeknit.hub.nodes import Taint, Toleration
from closeknit.hub.problems import Problem, shown, suggestion
from closeknit.hub.quantities import Rounding
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology

_MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
_PROVISIONING = "kueue.x-k8s.io/provisioning-request"
_CHECKS = {_MULTI_KUEUE: "MultiKueue", _PROVISIONING: "ProvisioningRequest"}
_STOPS = ("None", "Hold", "HoldAndDrain")


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes that are alike: their labels, and the topology over them if there is one."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    tolerations: tuple[Toleration, ...]
    topology: Topology | None


@dataclass(frozen=True, slots=True)
class Quota:
    """What a queue may have of one flavor."""

    flavor: Flavor
    nominal: Resources
    borrowing: Mapping[str, int]
    """How much more than its own it may have; a resource that is missing has no limit of its own."""
    lending: Mapping[str, int]
    """How much of its own others may have; a resource that is missing is lent in full."""


@dataclass(frozen=True, slots=True)
class Covered:
    """Resources that come from one flavor together."""

    resources: tuple[str, ...]
    quotas: tuple[Quota, ...]
    """In the order in which they are tried."""


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


def read_flavors(
    manifests: Manifests, topologies: Mapping[str, Topology], found: list[Located]
) -> dict[str, Flavor]:
    """The flavors by name. One whose topology is not known counts as one without."""
    flavors: dict[str, Flavor] = {}
    unusable = {one.name for one in manifests.named(wire.Topology)}
    for manifest in manifests.of(wire.ResourceFlavor):
        problems: list[Problem] = []
        spec = manifest.content.spec
        for key in spec.node_labels:
            problems.extend(key_problems(within("spec.nodeLabels", key), key))
        if spec.topology_name and not spec.node_labels:
            message = "A flavor with a topology needs at least one node label, so that its nodes can be told."
            problems.append(Problem("spec.nodeLabels", message))
        for name, given in (("nodeTaints", spec.node_taints), ("tolerations", spec.tolerations)):
            if len(given) > 8:
                problems.append(Problem(f"spec.{name}", f"There are {len(given)}. Allowed are at most 8."))
        if spec.topology_name and spec.topology_name not in topologies:
            name = shown(spec.topology_name)
            wrong = (
                f"Topology {name} has problems of its own. Correct them first."
                if spec.topology_name in unusable
                else f"There is no Topology {name}. {suggestion(spec.topology_name, topologies)}"
            )
            problems.append(Problem("spec.topologyName", wrong))
        tolerating = PodSpec(containers=[], affinity=Affinity(), tolerations=spec.tolerations)
        flavors[manifest.name] = Flavor(
            name=manifest.name,
            labels=spec.node_labels,
            taints=tuple(
                taint(each, f"spec.nodeTaints[{i}]", problems) for i, each in enumerate(spec.node_taints)
            ),
            tolerations=node_filter(tolerating, problems).tolerations,
            topology=topologies.get(spec.topology_name),
        )
        found.extend(manifest.located(problem) for problem in problems)
    return flavors


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
        covered = _covered(spec.resource_groups, flavors, known_flavors, problems)
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
        covered = _covered(given.content.spec.resource_groups, flavors, known_flavors, quiet)
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


def _covered(
    groups: list[wire.ResourceGroup],
    flavors: Mapping[str, Flavor],
    known: set[str],
    problems: list[Problem],
) -> tuple[Covered, ...]:
    """The groups of resources; each resource and each flavor stands in one of them only."""
    covered: list[Covered] = []
    resource_places: dict[str, str] = {}
    flavor_places: dict[str, str] = {}
    for i, group in enumerate(groups):
        path = f"spec.resourceGroups[{i}]"
        for j, name in enumerate(group.covered_resources):
            where = f"{path}.coveredResources[{j}]"
            if (first := resource_places.setdefault(name, where)) != where:
                problems.append(Problem(where, f"{shown(name)} is already covered at {first}. Keep one."))
        if not group.covered_resources:
            message = "No resource is covered. Name at least one."
            problems.append(Problem(f"{path}.coveredResources", message))
        if not group.flavors:
            problems.append(Problem(f"{path}.flavors", "There is no flavor. Name at least one."))
        quotas: list[Quota] = []
        for j, given in enumerate(group.flavors):
            where = f"{path}.flavors[{j}]"
            if (first := flavor_places.setdefault(given.name, where)) != where:
                message = f"{shown(given.name)} is already at {first}. A flavor stands in one place only."
                problems.append(Problem(f"{where}.name", message))
            quotas.extend(
                _quota(given, where, group.covered_resources, flavors=flavors, known=known, problems=problems)
            )
        covered.append(Covered(tuple(group.covered_resources), tuple(quotas)))
    return tuple(covered)


def _quota(
    given: wire.FlavorQuotas,
    path: str,
    covered: list[str],
    *,
    flavors: Mapping[str, Flavor],
    known: set[str],
    problems: list[Problem],
) -> Iterator[Quota]:
    if given.name not in known:
        message = f"There is no ResourceFlavor {shown(given.name)}. {suggestion(given.name, flavors)}"
        problems.append(Problem(f"{path}.name", message))
    if sorted(each.name for each in given.resources) != sorted(covered):
        message = (
            f"The resources must be those of coveredResources: {', '.join(shown(name) for name in covered)}."
        )
        problems.append(Problem(f"{path}.resources", message))
    nominal: dict[str, int] = {}
    borrowing: dict[str, int] = {}
    lending: dict[str, int] = {}
    for i, each in enumerate(given.resources):
        where = f"{path}.resources[{i}]"
        for field, written, kept in (
            ("nominalQuota", each.nominal_quota, nominal),
            ("borrowingLimit", each.borrowing_limit, borrowing),
            ("lendingLimit", each.lending_limit, lending),
        ):
            if written is not None:
                wrong: list[Problem] = []
                amount = resources({each.name: written}, where, Rounding.DOWN, wrong).get(each.name, 0)
                problems.extend(Problem(f"{where}.{field}", problem.message) for problem in wrong)
                kept[each.name] = amount
        if lending.get(each.name, 0) > nominal.get(each.name, 0):
            message = "More cannot be lent than there is. Write at most the nominal quota."
            problems.append(Problem(f"{where}.lendingLimit", message))
    if given.name in flavors:
        yield Quota(flavors[given.name], Resources(nominal), borrowing, lending)


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
