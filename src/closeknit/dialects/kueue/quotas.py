"""ResourceFlavors, which are nodes that are alike, and the quota that queues and cohorts have of them.

Cohorts lend to those inside them and to each other, which makes accounts of quotas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.core_v1 import Affinity, PodSpec
from closeknit.apis.wire import Quantity, Wire
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.node_filters import node_filter, taint
from closeknit.dialects.core.notes import not_in_sight
from closeknit.dialects.core.resources import resources
from closeknit.dialects.core.topologies import label_key_problems
from closeknit.dialects.kueue.topologies import FAMILY, kueue_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.nodes import Taint, Toleration
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.quantities import Rounding
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import Topology

_MEMBERS = "kueue members of a cohort"


def cohort_of(spec: wire.ClusterQueueSpec) -> str:
    """The cohort that a ClusterQueue is in; empty where it is in none."""
    return spec.cohort_name or spec.cohort


def parent_of(spec: wire.CohortSpec) -> str:
    """The cohort that a Cohort is in; empty where it is in none."""
    return spec.parent_name or spec.parent


INDEXES = (
    Index(_MEMBERS, wire.ClusterQueue, lambda queue: (("queue", cohort_of(queue.content.spec)),)),
    Index(_MEMBERS, wire.Cohort, lambda cohort: (("cohort", parent_of(cohort.content.spec)),)),
)
"""ClusterQueues and Cohorts by the cohort that they are in."""


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes that are alike: their labels, and the topology over them if there is one."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    tolerations: tuple[Toleration, ...]
    topology: Topology | None
    missing: str = ""
    """The topology that it names, where there is no such one."""


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


def flavor_named(view: View, name: str) -> Flavor | None:
    """The flavor of this name; None where there is none, or it cannot be read."""
    stored = view.get(kueue_key("ResourceFlavor", name))
    return _flavor(stored, view, []) if stored is not None else None


def flavor_problems(stored: Stored[wire.ResourceFlavor], view: View) -> list[Problem]:
    """Everything that is wrong with a flavor."""
    found: list[Problem] = []
    _flavor(stored, view, found)
    return found


def _flavor(stored: Stored[wire.ResourceFlavor], view: View, found: list[Problem]) -> Flavor:
    """Read a flavor."""
    spec = stored.content.spec
    for key in spec.node_labels:
        found.extend(label_key_problems(("spec", "nodeLabels", key), key))
    if spec.topology_name and not spec.node_labels:
        found.append(sentences.LABELS_NEEDED.at(("spec", "nodeLabels")))
    for field, given in (("nodeTaints", spec.node_taints), ("tolerations", spec.tolerations)):
        if len(given) > 8:
            found.append(sentences.AT_MOST_EIGHT.at(("spec", field), given=len(given)))
    known = view.derive(topologies_of, FAMILY)
    if spec.topology_name and spec.topology_name not in known:
        path, name = ("spec", "topologyName"), spec.topology_name
        if view.has(kueue_key("Topology", name)):
            found.append(core.HAS_PROBLEMS.at(path, kind="Topology", name=name))
        else:
            remedy = OneOf.among(name, known)
            unknown = core.NOT_FOUND.at(path, kind="Topology", name=name, remedy=remedy)
            found.append(not_in_sight(unknown, view, _given(view, wire.Topology)))
    tolerating = PodSpec(containers=(), affinity=Affinity(), tolerations=spec.tolerations)
    return Flavor(
        name=stored.name,
        labels=spec.node_labels,
        taints=tuple(
            taint(each, ("spec", "nodeTaints", i), found) for i, each in enumerate(spec.node_taints)
        ),
        tolerations=node_filter(tolerating, found).tolerations,
        topology=known.get(spec.topology_name),
        missing=spec.topology_name if spec.topology_name not in known else "",
    )


def resource_groups(
    groups: Sequence[wire.ResourceGroup], view: View, found: list[Problem], *, of_cohort: bool = False
) -> tuple[Covered, ...]:
    """What a queue or cohort has to give; each resource and each flavor stands in one group only.

    A cohort may lend more than its own, because those inside it lend to it.
    """
    covered: list[Covered] = []
    resource_paths: dict[str, Path] = {}
    flavor_paths: dict[str, Path] = {}
    for i, group in enumerate(groups):
        path: Path = ("spec", "resourceGroups", i)
        for j, name in enumerate(group.covered_resources):
            where: Path = (*path, "coveredResources", j)
            if (first := resource_paths.setdefault(name, where)) != where:
                found.append(sentences.RESOURCE_TWICE.at(where, resource=name, first=Field(first)))
        if not group.covered_resources:
            found.append(sentences.NO_RESOURCE.at((*path, "coveredResources")))
        if not group.flavors:
            found.append(sentences.NO_FLAVOR_GIVEN.at((*path, "flavors")))
        quotas: list[Quota] = []
        for j, given in enumerate(group.flavors):
            where = (*path, "flavors", j)
            if (first := flavor_paths.setdefault(given.name, where)) != where:
                problem = sentences.FLAVOR_TWICE.at((*where, "name"), flavor=given.name, first=Field(first))
                found.append(problem)
            found.extend(_flavor_quota_problems(given, where, group.covered_resources, view))
            flavor = view.derive(flavor_named, given.name)
            quota = _quota(given, flavor, where, found, of_cohort=of_cohort)
            if quota is not None:
                quotas.append(quota)
        covered.append(Covered(tuple(group.covered_resources), tuple(quotas)))
    return tuple(covered)


def unseen(groups: Sequence[wire.ResourceGroup], view: View) -> tuple[str, ...]:
    """What flavors are not in sight, or lack their topology there, where both may be in a cluster."""
    if not view.partial:
        return ()
    flavors = {each.name: view.derive(flavor_named, each.name) for group in groups for each in group.flavors}
    names = [name for name in flavors if not view.has(kueue_key("ResourceFlavor", name))]
    missing = [each.missing for each in flavors.values() if each is not None and each.missing]
    alone = names if not _given(view, wire.ResourceFlavor) else []
    return (*alone, *(missing if not _given(view, wire.Topology) else ()))


def _given(view: View, shape: type[Wire]) -> list[str]:
    return [key.name for key in view.keys(shape)]


def _flavor_quota_problems(
    given: wire.FlavorQuotas, path: Path, covered: Sequence[str], view: View
) -> Iterator[Problem]:
    if not view.has(kueue_key("ResourceFlavor", given.name)):
        remedy = OneOf.among(given.name, (each.name for each in view.of(wire.ResourceFlavor)))
        unknown = core.NOT_FOUND.at((*path, "name"), kind="ResourceFlavor", name=given.name, remedy=remedy)
        yield not_in_sight(unknown, view, _given(view, wire.ResourceFlavor))
    if sorted(each.name for each in given.resources) != sorted(covered):
        yield sentences.OTHER_RESOURCES.at((*path, "resources"), covered=tuple(covered))


def _quota(
    given: wire.FlavorQuotas, flavor: Flavor | None, path: Path, found: list[Problem], *, of_cohort: bool
) -> Quota | None:
    """Nominal quota and the limits of borrowing and lending, by resource; None without a flavor."""
    nominal: dict[str, int] = {}
    borrowing: dict[str, int] = {}
    lending: dict[str, int] = {}
    for i, each in enumerate(given.resources):
        where = (*path, "resources", i)
        for field, quantity, kept in (
            ("nominalQuota", each.nominal_quota, nominal),
            ("borrowingLimit", each.borrowing_limit, borrowing),
            ("lendingLimit", each.lending_limit, lending),
        ):
            if quantity is not None:
                kept[each.name] = _units(each.name, quantity, (*where, field), found)
        if not of_cohort and lending.get(each.name, 0) > nominal.get(each.name, 0):
            found.append(sentences.LENDS_TOO_MUCH.at((*where, "lendingLimit")))
    return Quota(flavor, Resources(nominal), borrowing, lending) if flavor is not None else None


def _units(resource: str, quantity: Quantity, path: Path, found: list[Problem]) -> int:
    wrong: list[Problem] = []
    units = resources({resource: quantity}, (), Rounding.DOWN, wrong).get(resource, 0)
    found.extend(problem.moved(lambda _: path) for problem in wrong)
    return units


def is_circular(view: View, name: str) -> bool:
    """Whether a cohort lies in itself, or in one that does. Nobody in it is admitted then."""
    *trail, last = way_up(view, name)
    return last in trail


def account(view: View, queue: str, cohort: str, quota: Quota) -> Account:
    """The account of a queue for one flavor, in the accounts of its cohorts."""
    flavor = quota.flavor.name
    alone = not cohort or view.derive(is_circular, cohort)
    around = None if alone else view.derive(_cohort_account, cohort, flavor)
    return _account(f"ClusterQueue {queue}", flavor, quota.nominal, quota, around)


def way_up(view: View, name: str) -> list[str]:
    """A cohort, its parent, the parent of that and so on; the last stands twice if they go in a circle."""
    trail = [name]
    while stored := view.get(kueue_key("Cohort", trail[-1])):
        above = parent_of(stored.content.spec)
        if not above:
            break
        circular = above in trail
        trail.append(above)
        if circular:
            break
    return trail


def _cohort_account(view: View, name: str, flavor: str) -> Account:
    stored = view.get(kueue_key("Cohort", name))
    parent = parent_of(stored.content.spec) if stored is not None else ""
    around = view.derive(_cohort_account, parent, flavor) if parent else None
    whole, own = view.derive(_cohort_total, name, flavor), _own(view, name, flavor)
    return _account(f"cohort {name}", flavor, whole, own, around)


def _cohort_total(view: View, name: str, flavor: str) -> Resources:
    """What a cohort has of a flavor: its own, and what its members lend to it."""
    own = _own(view, name, flavor)
    whole = own.nominal if own is not None else Resources()
    for queue in view.found(_MEMBERS, ("queue", name)):
        for quota in _of_flavor(resource_groups(queue.content.spec.resource_groups, view, []), flavor):
            whole += quota.nominal - _kept(quota.nominal, quota)
    for inner in view.found(_MEMBERS, ("cohort", name)):
        inside = view.derive(_cohort_total, inner.name, flavor)
        whole += inside - _kept(inside, _own(view, inner.name, flavor))
    return whole


def _own(view: View, name: str, flavor: str) -> Quota | None:
    """The quota of a cohort beside that of its members."""
    stored = view.get(kueue_key("Cohort", name))
    if stored is None:
        return None
    return next(_of_flavor(resource_groups(stored.content.spec.resource_groups, view, []), flavor), None)


def _account(
    who: str, flavor: str, whole: Resources, limits: Quota | None, around: Account | None
) -> Account:
    return Account(
        name=(who, f"flavor {flavor}"),
        quota=whole,
        kept=_kept(whole, limits) if around is not None else Resources(),
        borrowing=dict(limits.borrowing) if limits is not None else {},
        within=around,
    )


def _kept(whole: Resources, limits: Quota | None) -> Resources:
    """What is not lent: nothing, unless there is a limit."""
    if limits is None:
        return Resources()
    return Resources({name: max(whole.get(name, 0) - lent, 0) for name, lent in limits.lending.items()})


def _of_flavor(covered: Iterable[Covered], flavor: str) -> Iterator[Quota]:
    return (quota for group in covered for quota in group.quotas if quota.flavor.name == flavor)
