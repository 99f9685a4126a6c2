"""Outcomes as sentences. Nothing here decides anything.

Everything that a user named comes out printable: a control character in a
name is shown as its escape, so that no manifest can drive the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from closeknit.dialects import group_of
from closeknit.hub import quantities
from closeknit.hub.drawing import HOSTNAME
from closeknit.hub.neighbours import Apart, Near, PodRule, Spread
from closeknit.hub.outcome import (
    Assignment,
    Choice,
    CountChange,
    Departure,
    DomainFit,
    Exclusion,
    ExclusionReason,
    GroupReach,
    Holder,
    LevelChange,
    Placed,
    Relaxation,
    RuleReach,
    Shortfall,
)
from closeknit.hub.request import Group, Request
from closeknit.hub.shortfall import BehindStrictFifo, NoDomain, PodTooLarge, QuotaExceeded
from closeknit.hub.topology import DomainPath, Topology
from closeknit.hub.workload import ObjectName
from closeknit.scheduler.gangs.states import BelowMinimum, Stale
from closeknit.scheduler.planning import Status


def printable(text: str) -> str:
    """The text with everything that is not printable shown as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def first_line(text: str) -> str:
    """The text up to its first line break."""
    return text.partition("\n")[0]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun in the right form: 1 pod, 2 pods."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


LISTED = 6
"""How many names a message lists before it counts the rest."""


def listed(words: Sequence[str], limit: int = LISTED) -> str:
    """Words joined by commas, cut where they would flood the line."""
    if len(words) <= limit:
        return ", ".join(words)
    return f"{', '.join(words[:limit])} and {len(words) - limit} more"


def title(name: ObjectName) -> str:
    """What people call an object: its kind, namespace and name."""
    return printable(
        f"{name.kind} {name.namespace}/{name.name}" if name.namespace else f"{name.kind} {name.name}"
    )


def place(path: DomainPath) -> str:
    """A domain's path, or words for the whole cluster."""
    return printable("/".join(path)) if path else "the whole cluster"


def quantity(resource: str, units: int) -> str:
    """An amount as people write it: bytes and CPU with a suffix, things that are counted without."""
    if resource in ("cpu", "memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return quantities.written(resource, units)
    return str(units)


def size(placed: Placed) -> str:
    """How large a placement is, and what it could not do."""
    nodes = len({assignment.node for assignment in placed.assignments})
    words = [f"{counted(len(placed.assignments), 'pod')} on {counted(nodes, 'node')}"]
    there = max((group.pods for group in placed.groups), default=0)
    if there and not placed.assignments:
        words = ["1 pod has its place already" if there == 1 else f"{there} pods have their place already"]
    if placed.wishes.left_out:
        words.append(f"{counted(placed.wishes.left_out, 'pod')} above the minimum left out")
    if not placed.proven:
        words.append("not proven optimal")
    return ", ".join(words)


def runs(pods: int) -> str:
    """That pods of a unit run, however they were bound."""
    return f"{counted(pods, 'pod')} {'runs' if pods == 1 else 'run'}."


def runs_though_invalid(pods: int, problems: str) -> str:
    """That a unit runs which could not be scheduled as it is now."""
    return f"{runs(pods)} It could not be scheduled again as it is now: {problems}"


def violation(group: GroupReach) -> str:
    """That the running pods of a group break its required level."""
    shared = (
        f"share {printable(group.level)} {place(group.domains[0])} at most"
        if group.level
        else "share no level"
    )
    if group.level is not None and not group.satisfied:
        shared = f"are in {counted(len(group.domains), 'domain')} of {printable(group.level)}"
    required = printable(group.required or "")
    return f"{printable(group.name)} requires one {required}, and its running pods {shared}."


def assigned(pod: str, node: str) -> str:
    """That a pod was bound, as kube-scheduler reports it."""
    return f"Successfully assigned {printable(pod)} to {printable(node)}"


def reach(group: GroupReach) -> str:
    """How close a group came to what it asked for."""
    if group.level is None:
        return f"{counted(group.pods, 'pod')}, no level shared" if group.pods else "nothing placed"
    level = printable(group.level)
    if not group.satisfied:
        where = listed([place(domain) for domain in group.domains])
        return f"over {counted(len(group.domains), 'domain')} of {level}, where one is preferred: {where}"
    # The label of the finest usual level says nothing to people; what it stands for does.
    shared = "on one node" if group.level == HOSTNAME else f"in one {level}"
    return f"{shared}: {place(group.domains[0])}{_asked(group)}"


def _asked(group: GroupReach) -> str:
    levels = ((group.required, "required"), (group.preferred, "preferred"))
    both = group.required != group.preferred and None not in (group.required, group.preferred)
    asked = [
        f"{printable(level)} {kind}" if both or level != group.level else kind
        for level, kind in levels
        if level is not None
    ]
    return f" ({', '.join(asked)})" if asked else ""


def need(shortfall: Shortfall) -> str:
    """What a group needed and how close the cluster comes."""
    group = printable(shortfall.group)
    wanted = counted(shortfall.wanted, "pod")
    asked, best = f"{group} needs room for {wanted}", "the cluster has"
    match shortfall.reason:
        case QuotaExceeded():
            left = f"there is quota for {shortfall.fits}" if shortfall.fits else "there is none left"
            return f"{group} needs quota for {wanted}; {left}."
        case BehindStrictFifo():
            return f"{group} waits behind another of its queue, which nobody may pass (StrictFIFO)."
        case NoDomain(level=level) | PodTooLarge(level=level):
            if level is not None:
                asked, best = f"{asked} in one {printable(level)}", "the best has"
    if shortfall.fits >= shortfall.wanted:
        return f"{asked}. There is room by number, but not with everything that its parts ask for."
    more = any(fit.at_least for fit in shortfall.best)
    if not shortfall.fits:
        return f"{asked}; {best} {'none that was found' if more else 'none'}."
    return f"{asked}; {best} room for {'at least ' if more else ''}{shortfall.fits}."


def domain_fit(fit: DomainFit) -> str:
    """How much one domain takes, what stops it there, and who holds that."""
    fits = f"room for {'at least ' if fit.at_least else ''}{counted(fit.fits, 'pod')}"
    if not fit.fits:
        fits = "no room was found" if fit.at_least else "no room"
    room = f"{place(fit.domain)}: {fits}"
    if fit.limiting is None:
        return f"{room}."
    limit = f"{room}; {printable(fit.limiting)} runs out"
    return (
        f"{limit}, held by {listed(list(_holders(fit.limiting, fit.holders)), 3)}."
        if fit.holders
        else f"{limit}."
    )


def _holders(limiting: str, holders: Iterable[Holder]) -> Iterator[str]:
    for holder in holders:
        held = quantity(limiting, holder.amount)
        yield f"{printable(holder.workload)} ({held} with {counted(holder.pods, 'pod')})"


def choice(made: Choice) -> str:
    """How many domains a placed group could choose from, and which it took."""
    level, inside = printable(made.level), f" in {place(made.inside)}" if made.inside else ""
    if made.of == 1:
        had = f"there is one {level}{inside}, {place(made.domain)}"
    elif made.fitting == 1:
        had = f"of {made.of} {level}{inside} only {place(made.domain)} has room for it"
    else:
        had = f"{made.fitting} of {made.of} {level}{inside} have room for it; it took {place(made.domain)}"
    return f"{printable(made.group)}: {had}, where {counted(made.room, 'pod')} would fit."


def runner_up(fit: DomainFit) -> str:
    """A domain that was not taken, and how many pods would fit there."""
    return f"not taken: {place(fit.domain)}, where {counted(fit.fits, 'pod')} would fit."


_EXCLUSIONS = {
    ExclusionReason.UNLABELLED: ("lacks the label {}", "lack the label {}"),
    ExclusionReason.UNSCHEDULABLE: ("is cordoned", "are cordoned"),
    ExclusionReason.NOT_READY: ("is not ready", "are not ready"),
    ExclusionReason.NODE_SELECTOR: (
        "does not match the node selector {}",
        "do not match the node selector {}",
    ),
    ExclusionReason.NODE_AFFINITY: (
        "does not match the node affinity {}",
        "do not match the node affinity {}",
    ),
    ExclusionReason.TAINT: (
        "has the taint {}, which is not tolerated",
        "have the taint {}, which is not tolerated",
    ),
    ExclusionReason.RESOURCE: ("has too little {} free for one pod", "have too little {} free for one pod"),
    ExclusionReason.PORT: ("has host port {} in use", "have host port {} in use"),
    ExclusionReason.TOPOLOGY_KEY: (
        "does not count by {}, which a rule about other pods names",
        "do not count by {}, which a rule about other pods names",
    ),
    ExclusionReason.ANTI_AFFINITY: (
        "lies in a domain of {} with pods that these must not meet",
        "lie in domains of {} with pods that these must not meet",
    ),
    ExclusionReason.EXISTING_ANTI_AFFINITY: (
        "lies in a domain of {} with pods that keep these away",
        "lie in domains of {} with pods that keep these away",
    ),
    ExclusionReason.POD_AFFINITY: (
        "lies in a domain of {} without the pods that these must be near",
        "lie in domains of {} without the pods that these must be near",
    ),
    ExclusionReason.SPREAD: (
        "lies in a domain of {} that has too many such pods already",
        "lie in domains of {} that have too many such pods already",
    ),
}


def exclusion(excluded: Exclusion) -> str:
    """Why some nodes cannot take a single pod."""
    nodes = counted(excluded.nodes, "node")
    detail = printable(excluded.detail)
    one, many = _EXCLUSIONS[excluded.reason]
    words = (one if excluded.nodes == 1 else many).format(detail)
    return f"{nodes} {words.rstrip()}."


def relaxation(relaxed: Relaxation, request: Request) -> str:
    """What would have to change so that everything can be placed."""
    departures = [change for change in relaxed.changes if isinstance(change, Departure)]
    orders = [_change(change, request) for change in relaxed.changes if not isinstance(change, Departure)]
    told = " and ".join(orders)
    # Leaving is what others do; everything else is for the reader to do.
    if departures:
        left = (tuple(map(printable, change.workloads)) for change in departures)
        leaving = " and ".join(f"workload{'s' * (len(each) > 1)} {' and '.join(each)} left" for each in left)
        return (
            f"If {leaving}, {told}, and it can be placed." if orders else f"If {leaving}, it could be placed."
        )
    return f"{told[:1].upper()}{told[1:]}, and it can be placed."


def _change(change: LevelChange | CountChange, request: Request) -> str:
    match change:
        case LevelChange(group=name, to=level):
            now = _required(name, request)
            if level is None:
                return f"drop the required level{now} of {printable(name)}"
            return f"require {printable(level)}{' instead of' if now else ''}{now} for {printable(name)}"
        case CountChange(pod_set=name, to=number):
            counts = [pods.count for pods in request.root.pod_sets() if pods.name == name]
            instead = f" instead of {counts[0]}" if counts else ""
            return f"ask for {counted(number, 'pod')} of {printable(_pods_of(name, request))}{instead}"


def known_as(pod_set: str, request: Request | None) -> str:
    """A pod set by the name of its group, where that says which one is meant."""
    group = group_of(pod_set)
    if request is None:
        return group
    alike = [pods.name for pods in request.root.pod_sets() if group_of(pods.name) == group]
    return group if alike == [pod_set] else pod_set


def _pods_of(pod_set: str, request: Request) -> str:
    """Whose pods these are, by a name that the user wrote.

    A dialect may keep pods under a name of its own where the user gave the group no parts.
    """
    known = known_as(pod_set, request)
    members = list(request.root.walk())
    if any(isinstance(member, Group) and member.name == known for member, _ in members):
        return known
    parents = [parent for member, parent in members if member.name == pod_set and parent is not None]
    return parents[0].name if parents and len(parents[0].members) == 1 else known


def _required(name: str, request: Request) -> str:
    for member, _ in request.root.walk():
        if isinstance(member, Group) and member.name == name and member.required is not None:
            return f" {printable(member.required)}"
    return ""


def wishes(placed: Placed, topology: Topology | None) -> Iterator[str]:
    """How the placement does on each wish, the most important first."""
    levels = topology.labels if topology is not None else ()
    left_out = placed.wishes.left_out
    yield f"{counted(left_out, 'pod')} above the minimum left out." if left_out else "No pod is left out."
    wished = {group.preferred for group in placed.groups if group.preferred is not None}
    for level, distance in zip(levels, placed.wishes.preferences, strict=False):
        if level in wished and distance:
            yield f"The preferences for {printable(level)} are missed by a distance of {distance} in all."
        elif level in wished:
            yield f"Every preference for {printable(level)} is met."
    yield from map(_rule_reach, rule_reaches(placed))
    used = [
        f"{number} of {printable(level)}"
        for level, number in zip(levels, placed.wishes.used, strict=False)
        # Hosts are counted as nodes, in the last number.
        if level != HOSTNAME
    ]
    nodes = counted(placed.wishes.used[-1], "node") if placed.wishes.used else "no nodes"
    yield f"It uses {', '.join([*used, nodes])}."
    if placed.proven:
        yield "No placement does better on these points."
    else:
        yield "Not proven optimal: the search budget ended before every better placement was ruled out."


def rule_reaches(placed: Placed) -> list[RuleReach]:
    """For how many pods preferred rules are kept, by what the user wrote: pod sets of one group together."""
    found: dict[tuple[str, PodRule], RuleReach] = {}
    for each in placed.rules:
        key = (group_of(each.pod_set), each.rule)
        before = found.get(key, RuleReach(*key, 0, 0))
        found[key] = RuleReach(*key, before.pods + each.pods, before.kept + each.kept)
    return list(found.values())


def _rule_reach(reached: RuleReach) -> str:
    rule, kept = reached.rule, reached.kept
    key = printable(rule.keys[0] if isinstance(rule, Near) else rule.key)
    what = {Near: "affinity", Apart: "anti-affinity", Spread: "spreading"}[type(rule)]
    number = f"all {reached.pods} pods" if kept == reached.pods else f"{kept} of {reached.pods} pods"
    if reached.pods == 1:
        number = "its pod" if kept else "no pod"
    return f"The preferred {what} of {printable(reached.pod_set)} by {key} is kept for {number}."


def below_minimum(below: BelowMinimum, evicted_at: str | None) -> str:
    """What runs of a gang below its minimum, and when that is evicted; None for never."""
    pods = counted(len(below.running), "pod")
    verb, them = ("runs", "It is") if len(below.running) == 1 else ("run", "They are")
    if isinstance(below, Stale):
        state = f"It ran and has lost pods of its minimum; {pods} still {verb}."
    else:
        state = f"It is bound in part: {pods} {verb}, fewer than its minimum."
    if evicted_at is None:
        return state
    refused = ""
    if below.refused:
        refused = f" The last attempt to evict was refused for {counted(below.refused, 'pod')}."
    return f"{state}{refused} {them} evicted at {evicted_at} unless the rest is bound before."


def evicted(below: BelowMinimum) -> str:
    """Why the running pods of a gang below its minimum are evicted."""
    number = len(below.running)
    if isinstance(below, Stale):
        are = "its running pod is" if number == 1 else f"its {number} running pods are"
        lost = "It lost pods of its minimum, and no replacements were bound within its grace period"
        return f"{lost}: {are} evicted."
    have = "pod has" if number == 1 else "pods have"
    return f"It was bound in part and could not be completed: only {number} {have} a node."


def pods_by_node(assignments: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    """The pods on each node, nodes in the order of their first pod."""
    nodes: dict[str, list[Assignment]] = {}
    for assignment in assignments:
        nodes.setdefault(assignment.node, []).append(assignment)
    return nodes


_STATUSES = {
    Status.PLACED: "placed",
    Status.UNPLACEABLE: "cannot be placed",
    Status.UNDECIDED: "not decided within the search budget",
    Status.INVALID: "invalid",
}


def status(of: Status) -> str:
    """What became of a workload, in a few words."""
    return _STATUSES[of]
