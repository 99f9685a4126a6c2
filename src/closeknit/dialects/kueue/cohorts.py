"""Cohorts: who lends to whom, and the accounts that this makes of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.flavors import Covered, Quota, limit_problems, resource_groups
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, shown
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kueue as sentences

_MEMBERS = "kueue members of a cohort"


def cohort_of(spec: wire.ClusterQueueSpec) -> str:
    """The cohort that a ClusterQueue is in; empty where it is in none."""
    return spec.cohort_name or spec.cohort


def _parent(spec: wire.CohortSpec) -> str:
    return spec.parent_name or spec.parent


INDEXES = (
    Index(_MEMBERS, wire.ClusterQueue, lambda queue: (("queue", cohort_of(queue.content.spec)),)),
    Index(_MEMBERS, wire.Cohort, lambda cohort: (("cohort", _parent(cohort.content.spec)),)),
)
"""ClusterQueues and Cohorts by the cohort that they are in."""


def cohort_problems(stored: Stored[wire.Cohort], view: View) -> Iterator[Problem]:
    """Everything that is wrong with a cohort."""
    spec = stored.content.spec
    if spec.parent_name and spec.parent and spec.parent != spec.parent_name:
        yield sentences.BOTH_SPELLINGS.at(("spec", "parent"), field="parentName")
    found: list[Problem] = []
    resource_groups(spec.resource_groups, view, found, of_cohort=True)
    yield from found
    if not _parent(spec):
        yield from limit_problems(spec.resource_groups, "in a cohort with a parent", "parentName")
    *trail, last = _way_up(view, stored.name)
    if trail and last == stored.name:
        written = " > ".join(map(shown, (*trail, last)))
        yield sentences.COHORTS_IN_CIRCLE.at(("spec", "parentName"), trail=written)


def is_circular(view: View, name: str) -> bool:
    """Whether a cohort lies in itself, or in one that does. Nobody in it is admitted then."""
    *trail, last = _way_up(view, name)
    return last in trail


def account(view: View, queue: str, cohort: str, quota: Quota) -> Account:
    """The account of a queue for one flavor, in the accounts of its cohorts."""
    flavor = quota.flavor.name
    alone = not cohort or view.derive(is_circular, cohort)
    around = None if alone else view.derive(_cohort_account, cohort, flavor)
    return _account(f"ClusterQueue {queue}", flavor, quota.nominal, quota, around)


def _way_up(view: View, name: str) -> list[str]:
    """A cohort, its parent, the parent of that and so on; the last stands twice if they go in a circle."""
    trail = [name]
    while stored := view.get(kueue_key("Cohort", trail[-1])):
        above = _parent(stored.content.spec)
        if not above:
            break
        circular = above in trail
        trail.append(above)
        if circular:
            break
    return trail


def _cohort_account(view: View, name: str, flavor: str) -> Account:
    stored = view.get(kueue_key("Cohort", name))
    parent = _parent(stored.content.spec) if stored is not None else ""
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
