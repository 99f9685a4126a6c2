"""Cohorts: who lends to whom, and the accounts that this makes of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.quotas import Covered, Quota, QuotaReader
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources


@dataclass(slots=True)
class Cohort:
    """Queues and cohorts that lend each other what they do not use."""

    name: str
    parent: str = ""
    covered: tuple[Covered, ...] = ()
    """Quota of its own, beside that of its members."""
    members: list[tuple[Covered, ...]] = field(default_factory=list)
    """What the queues in it have."""
    inner: list[str] = field(default_factory=list)
    """The cohorts in it."""
    circular: bool = False
    """Whether it lies in itself; nobody in it is admitted then."""


class Cohorts:
    """All cohorts, those included that are named and have no object of their own."""

    def __init__(self, cohorts: Mapping[str, Cohort]) -> None:
        self._cohorts = dict(cohorts)
        self._accounts: dict[tuple[str, str], Account] = {}

    def join(self, name: str, covered: tuple[Covered, ...]) -> None:
        """Let a queue that has this quota be one of a cohort."""
        self._cohorts.setdefault(name, Cohort(name)).members.append(covered)

    def is_circular(self, name: str) -> bool:
        """Whether a cohort lies in itself, or in one that does."""
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            cohort = self._cohorts.get(name, Cohort(name))
            if cohort.circular:
                return True
            name = cohort.parent
        return False

    def account(self, queue: str, cohort: str, quota: Quota) -> Account:
        """The account of a queue for one flavor, in the accounts of its cohorts, which lie in no circle.

        To be asked for once all queues have joined.
        """
        flavor = quota.flavor.name
        around = self._around(cohort, flavor) if cohort else None
        return _account(f"ClusterQueue {queue}", flavor, quota.nominal, quota, around)

    def _around(self, name: str, flavor: str) -> Account:
        if (name, flavor) not in self._accounts:
            self._accounts[name, flavor] = self._made(name, flavor)
        return self._accounts[name, flavor]

    def _made(self, name: str, flavor: str) -> Account:
        cohort = self._cohorts.get(name, Cohort(name))
        around = self._around(cohort.parent, flavor) if cohort.parent else None
        return _account(f"cohort {name}", flavor, self._whole(name, flavor), self._own(name, flavor), around)

    def _whole(self, name: str, flavor: str) -> Resources:
        """What a cohort has of a flavor: its own, and what its members lend to it."""
        own = self._own(name, flavor)
        whole = own.nominal if own is not None else Resources()
        cohort = self._cohorts.get(name, Cohort(name))
        for member in cohort.members:
            for quota in _of_flavor(member, flavor):
                whole += quota.nominal - _kept(quota.nominal, quota)
        for inner in cohort.inner:
            inside = self._whole(inner, flavor)
            whole += inside - _kept(inside, self._own(inner, flavor))
        return whole

    def _own(self, name: str, flavor: str) -> Quota | None:
        return next(_of_flavor(self._cohorts.get(name, Cohort(name)).covered, flavor), None)


def read_cohorts(manifests: View, quotas: QuotaReader, found: list[Reported]) -> Cohorts:
    """All cohorts, with every problem of theirs."""
    given: dict[str, Stored[wire.Cohort]] = {each.name: each for each in manifests.of(wire.Cohort)}
    cohorts: dict[str, Cohort] = {}
    for name, manifest in given.items():
        problems: list[Problem] = []
        spec = manifest.content.spec
        parent = spec.parent_name or spec.parent
        if spec.parent_name and spec.parent and spec.parent != spec.parent_name:
            message = "parentName stands here as well, and differs. Leave this out."
            problems.append(as_told("spec.parent", message))
        covered = quotas.read(spec.resource_groups, problems, of_cohort=True)
        if not parent:
            problems.extend(alone_problems(spec.resource_groups, "in a cohort with a parent", "parentName"))
        cohorts[name] = Cohort(name, parent, covered)
        found.extend(manifest.report(problem) for problem in problems)
    for name, trail in _circles({name: each.parent for name, each in cohorts.items()}):
        cohorts[name].circular = True
        written = " > ".join(shown(step) for step in trail)
        message = f"These cohorts are each other's parents: {written}. Let one of them have no parent."
        found.append(given[name].report(as_told("spec.parentName", message)))
    for cohort in list(cohorts.values()):
        if cohort.parent:
            cohorts.setdefault(cohort.parent, Cohort(cohort.parent)).inner.append(cohort.name)
    return Cohorts(cohorts)


def alone_problems(groups: list[wire.ResourceGroup], where: str, field_name: str) -> Iterator[Problem]:
    """Limits of borrowing and lending where there is nobody to borrow from or lend to."""
    for i, group in enumerate(groups):
        for j, flavor in enumerate(group.flavors):
            for k, each in enumerate(flavor.resources):
                path = f"spec.resourceGroups[{i}].flavors[{j}].resources[{k}]"
                for limit, written in (
                    ("borrowingLimit", each.borrowing_limit),
                    ("lendingLimit", each.lending_limit),
                ):
                    if written is not None:
                        message = f"This counts {where} only. Name one in {field_name}, or leave it out."
                        yield as_told(f"{path}.{limit}", message)


def _circles(parents: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Each cohort that lies in itself, and the way round."""
    for name in parents:
        trail = [name]
        while (above := parents.get(trail[-1], "")) and above not in trail:
            trail.append(above)
        if above == name:
            yield name, [*trail, name]


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
