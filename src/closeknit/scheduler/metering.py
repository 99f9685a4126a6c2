"""What pods cost a workload whose accounts are charged pod by pod, as they run."""

from __future__ import annotations

from collections.abc import Iterable

from closeknit.hub.accounts import Accounts
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Assignment, Unplaceable
from closeknit.hub.quota import Account, Charge, Option, refused
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.needs import satisfied


def metered(workload: PlaceableWorkload, new: Iterable[Assignment] = ()) -> Option:
    """What is charged for the pods of a workload that run, and for these new ones."""
    request = workload.request
    added: dict[str, int] = {}
    for each in new:
        added[each.pod_set] = added.get(each.pod_set, 0) + 1
    total, pods = Resources(), 0
    for each_set in request.root.pod_sets():
        running = len(each_set.bound) + added.get(each_set.name, 0)
        pods += running
        total += each_set.resources * running
    return _cost(workload, request, total, pods)


def lacking_for(accounts: Accounts, workload: PlaceableWorkload) -> Unplaceable | None:
    """What the accounts lack for the least that a workload can run with, if they lack anything.

    Where there is a choice of members, each resource is counted for the choice that needs the least
    of it. So nobody is refused here who could run.
    """
    cost = least_cost(workload)
    lacking = accounts.lacking(cost)
    return refused(cost, lacking, workload.accounts[0].scope) if lacking else None


def least_cost(workload: PlaceableWorkload) -> Option:
    """The least that is charged for a workload once its minimum runs."""
    request = workload.request
    names = {name for pods in request.root.pod_sets() for name in pods.resources}
    total = Resources({name: _least(request.root, name) for name in names})
    return _cost(workload, request, total, _least(request.root, None))


def next_cost(workload: PlaceableWorkload) -> Option:
    """What is charged for a workload once it has got what it gets next: its minimum, or one more pod."""
    request = workload.request
    growing = next((pods for pods in request.root.pod_sets() if pods.open), None)
    if growing is None or not satisfied(request.root):
        return least_cost(workload)
    return metered(workload, [Assignment("", growing.name, "", ())])


def cheapest_first(request: Request, resource: str | None) -> Request:
    """The same request with the members of each group in the order of what they need of a resource."""

    def ordered(group: Group) -> Group:
        return replace(group, members=tuple(sorted(group.members, key=lambda each: _least(each, resource))))

    return replace(request, root=request.root.mapped(groups=ordered))


def counted(account: Account) -> frozenset[str]:
    """The resources that an account counts: those of which its outermost account has any."""
    return frozenset(account.around[-1].quota)


def _cost(workload: PlaceableWorkload, request: Request, total: Resources, pods: int) -> Option:
    """A charge of so much for so many pods."""
    charges = tuple(
        Charge(account, Resources({name: units for name, units in total.items() if name in counted(account)}))
        for account in workload.accounts
    )
    return Option(Request(request.name, Group(request.root.name, (PodSet("pods", pods),))), charges)


def _least(member: Member, name: str | None) -> int:
    """The least that a member has of a resource once it is formed, with running pods; None counts pods."""
    if isinstance(member, PodSet):
        each = 1 if name is None else member.resources.get(name, 0)
        return max(member.least, len(member.bound)) * each
    # What runs is there in any case; of what does not, the cheapest members will do.
    running = [_running(inner, name) for inner in member.members]
    more = sorted(_least(inner, name) - has for inner, has in zip(member.members, running, strict=True))
    return sum(running) + sum(more[: member.least])


def _running(member: Member, name: str | None) -> int:
    if isinstance(member, PodSet):
        return len(member.bound) * (1 if name is None else member.resources.get(name, 0))
    return sum(_running(inner, name) for inner in member.members)
