"""What a queue or cohort has to give: quota by flavor and resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.resources import resources
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.hub.problems import Problem, as_told, shown, suggestion
from closeknit.hub.quantities import Rounding
from closeknit.hub.resources import Resources


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
class QuotaReader:
    """Reads what ClusterQueues and Cohorts have to give."""

    flavors: Mapping[str, Flavor]
    known: AbstractSet[str]
    """The flavors that exist, whether they could be read or not."""

    def read(
        self, groups: list[wire.ResourceGroup], problems: list[Problem], *, of_cohort: bool = False
    ) -> tuple[Covered, ...]:
        """The groups of resources; each resource and each flavor stands in one of them only.

        A cohort may lend more than its own, because those inside it lend to it.
        """
        covered: list[Covered] = []
        resource_places: dict[str, str] = {}
        flavor_places: dict[str, str] = {}
        for i, group in enumerate(groups):
            path = f"spec.resourceGroups[{i}]"
            for j, name in enumerate(group.covered_resources):
                where = f"{path}.coveredResources[{j}]"
                if (first := resource_places.setdefault(name, where)) != where:
                    problems.append(as_told(where, f"{shown(name)} is already covered at {first}. Keep one."))
            if not group.covered_resources:
                message = "No resource is covered. Name at least one."
                problems.append(as_told(f"{path}.coveredResources", message))
            if not group.flavors:
                problems.append(as_told(f"{path}.flavors", "There is no flavor. Name at least one."))
            quotas: list[Quota] = []
            for j, given in enumerate(group.flavors):
                where = f"{path}.flavors[{j}]"
                if (first := flavor_places.setdefault(given.name, where)) != where:
                    message = f"{shown(given.name)} is already at {first}. A flavor stands in one place only."
                    problems.append(as_told(f"{where}.name", message))
                problems.extend(self._name_problems(given, where, group.covered_resources))
                nominal, borrowing, lending = _amounts(given, where, problems, of_cohort=of_cohort)
                if given.name in self.flavors:
                    quotas.append(Quota(self.flavors[given.name], Resources(nominal), borrowing, lending))
            covered.append(Covered(tuple(group.covered_resources), tuple(quotas)))
        return tuple(covered)

    def _name_problems(self, given: wire.FlavorQuotas, path: str, covered: list[str]) -> Iterator[Problem]:
        if given.name not in self.known:
            message = (
                f"There is no ResourceFlavor {shown(given.name)}. {suggestion(given.name, self.flavors)}"
            )
            yield as_told(f"{path}.name", message)
        if sorted(each.name for each in given.resources) != sorted(covered):
            names = ", ".join(shown(name) for name in covered)
            yield as_told(f"{path}.resources", f"The resources must be those of coveredResources: {names}.")


def _amounts(
    given: wire.FlavorQuotas, path: str, problems: list[Problem], *, of_cohort: bool
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Nominal quota and the limits of borrowing and lending, by resource."""
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
                problems.extend(as_told(f"{where}.{field}", problem.message) for problem in wrong)
                kept[each.name] = amount
        if not of_cohort and lending.get(each.name, 0) > nominal.get(each.name, 0):
            message = "More cannot be lent than there is. Write at most the nominal quota."
            problems.append(as_told(f"{where}.lendingLimit", message))
    return nominal, borrowing, lending
