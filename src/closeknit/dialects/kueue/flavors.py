"""ResourceFlavors, which are nodes that are alike, and the quota that queues and cohorts have of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.core_v1 import Affinity, PodSpec
from closeknit.apis.wire import Quantity
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.node_filters import node_filter, taint
from closeknit.dialects.core.resources import resources
from closeknit.dialects.core.topologies import label_key_problems
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.nodes import Taint, Toleration
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.quantities import Rounding
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import Topology

FAMILY = "kueue"


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
    """Read a flavor. One whose topology is not known counts as one without."""
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
            found.append(core.NOT_FOUND.at(path, kind="Topology", name=name, remedy=remedy))
    tolerating = PodSpec(containers=[], affinity=Affinity(), tolerations=spec.tolerations)
    return Flavor(
        name=stored.name,
        labels=spec.node_labels,
        taints=tuple(
            taint(each, ("spec", "nodeTaints", i), found) for i, each in enumerate(spec.node_taints)
        ),
        tolerations=node_filter(tolerating, found).tolerations,
        topology=known.get(spec.topology_name),
    )


def resource_groups(
    groups: list[wire.ResourceGroup], view: View, found: list[Problem], *, of_cohort: bool = False
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


def _flavor_quota_problems(
    given: wire.FlavorQuotas, path: Path, covered: list[str], view: View
) -> Iterator[Problem]:
    if not view.has(kueue_key("ResourceFlavor", given.name)):
        remedy = OneOf.among(given.name, (each.name for each in view.of(wire.ResourceFlavor)))
        yield core.NOT_FOUND.at((*path, "name"), kind="ResourceFlavor", name=given.name, remedy=remedy)
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


def limit_problems(groups: list[wire.ResourceGroup], where: str, field: str) -> Iterator[Problem]:
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
