"""What pods claim by name, turned into what requests can say: resources, and nodes that are accepted.

Claims to devices become resources (see ``devices``), claims to volumes become requirements on nodes (see
``volumes``). A claim that has its devices already pins its pods to their node. What cannot be said is a
problem that names the claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.resource_nvidia_com_v1beta1 import ComputeDomain
from closeknit.dialects.core.asking import ask_of, one_of
from closeknit.dialects.core.counting import counted
from closeknit.dialects.core.devices import (
    CLASS_PREFIX,
    GROUP,
    Query,
    alternatives,
    channel_claim,
    devices_of,
    query_of,
)
from closeknit.dialects.core.matched_devices import matched
from closeknit.dialects.core.node_filters import narrowed, selector_terms
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.partitions import parts, shared
from closeknit.dialects.core.shared_claims import on_one_host
from closeknit.dialects.core.volumes import add_volume
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD, Operator, Requirement, Term
from closeknit.hub.problems import Problem
from closeknit.hub.request import PodSet, Reference, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import claims as sentences

MOST_RESULTS = 32
"""How many devices a claim can get: as many as Kubernetes writes into one."""


@dataclass(slots=True)
class Claimed:
    """What some claims come to."""

    amounts: dict[str, int] = field(default_factory=dict)
    """Resources of a node that each pod takes beside what it asks for itself."""
    terms: list[tuple[Term, ...]] = field(default_factory=list)
    """Of each list one term must hold."""
    problems: list[Problem] = field(default_factory=list)

    def take(self, amounts: Mapping[str, int], times: int = 1) -> None:
        """Count some more of these resources."""
        for name, amount in amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + amount * times


def resolved(
    view: View, namespace: str, request: Request, labels: tuple[str, ...]
) -> tuple[Request, list[Problem]]:
    """The request with all that its pods claim, and what could not be said; ``labels`` are its levels."""
    found: dict[Problem, None] = {}

    def counted_in(pods: PodSet) -> PodSet:
        changed, problems = resolved_pods(view, namespace, pods)
        found.update(dict.fromkeys(problems))
        return changed

    plain = not any(
        pods.claims or _stands_for_devices(view, pods.resources) for pods in request.root.pod_sets()
    )
    if plain:
        return request, []
    root = on_one_host(view, namespace, request.root, labels, found)
    return replace(request, root=root.mapped(pods=counted_in)), list(found)


def resolved_pods(view: View, namespace: str, pods: PodSet) -> tuple[PodSet, list[Problem]]:
    """Pods with all that they claim, and what could not be said of it."""
    claimed = Claimed()
    for reference in pods.claims:
        match reference.kind:
            case "ResourceClaim" | "ResourceClaimTemplate":
                _add_claim(view, namespace, reference, claimed)
            case _:
                add_volume(view, namespace, reference, claimed, shared=pods.count > 1)
    for name, amount in pods.resources.items():
        query = _query_for(view, name)
        if query is not None:
            takes = view.derive(counted).takes.get(one_of(query), {})
            claimed.take({each: many for each, many in takes.items() if each != name}, amount)
    return _with(pods, claimed), claimed.problems


def _stands_for_devices(view: View, asked: Resources) -> bool:
    return any(_query_for(view, name) is not None for name in asked)


def _query_for(view: View, resource: str) -> Query | None:
    """The devices that a resource stands for; None for most."""
    if "/" not in resource:
        return None
    if resource.startswith(CLASS_PREFIX):
        return Query(resource.removeprefix(CLASS_PREFIX))
    ask = view.derive(counted).standing_for.get(resource)
    return ask.kinds[0][0] if ask is not None else None


def _with(pods: PodSet, claimed: Claimed) -> PodSet:
    if not claimed.amounts and not claimed.terms:
        return pods
    return replace(
        pods,
        resources=pods.resources + Resources(claimed.amounts),
        filter=narrowed(pods.filter, claimed.terms),
    )


# ------------------------------------------------------------------------------------------ devices


def _claim_spec(view: View, namespace: str, reference: Reference) -> wire.ResourceClaimSpec | None:
    stored = view.get(Key(GROUP, reference.kind, namespace, reference.name))
    if stored is not None:
        spec = stored.content.spec
        return spec.spec if reference.kind == "ResourceClaimTemplate" else spec  # type: ignore[no-any-return]
    for domain in view.of(ComputeDomain):
        template = domain.content.spec.channel.resource_claim_template.name
        if domain.namespace == namespace and template == reference.name:
            return channel_claim(domain.content)
    return None


def _add_claim(view: View, namespace: str, reference: Reference, claimed: Claimed) -> None:
    called = {"kind": reference.kind, "name": reference.name}
    if reference.kind == "ResourceClaim":
        stored = view.get(Key(GROUP, reference.kind, namespace, reference.name))
        allocation = stored.content.status.allocation if stored is not None else None
        if allocation is not None:
            if allocation.node_selector is not None:
                claimed.terms.append(selector_terms(allocation.node_selector, (), []))
            return
    spec = _claim_spec(view, namespace, reference)
    if spec is None:
        claimed.problems.append(sentences.NOT_IN_SIGHT.at((), **called))
        return
    if binds(view) and reference.kind == "ResourceClaimTemplate":
        claimed.problems.append(sentences.NOT_MADE.at((), name=reference.name))
        return
    if not view.of(wire.ResourceSlice):
        claimed.problems.append(sentences.NO_SLICES.at((), **called))
        return
    asked: dict[str, tuple[Query, int]] = {}
    for request in spec.devices.requests:
        _add_request(view, request, called, claimed)
        for each in alternatives(request):
            name = f"{request.name}/{each.name}" if request.first_available else request.name
            asked[name] = (query_of(each), each.count)
    least = sum(min(each.count for each in alternatives(one)) for one in spec.devices.requests)
    if least > MOST_RESULTS:
        claimed.problems.append(sentences.TOO_MANY_DEVICES.at((), most=MOST_RESULTS, **called))
    claimed.problems.extend(_constraints(view, spec.devices.constraints, asked, called))


def _add_request(
    view: View, request: wire.DeviceRequest, called: Mapping[str, str], claimed: Claimed
) -> None:
    """Count one request of a claim."""
    counts = view.derive(counted)
    ask, times = ask_of(request)
    problems = [view.derive(matched, query).problem for query, _ in ask.kinds]
    if found := [each for each in problems if each is not None]:
        claimed.problems += found
        return
    several = alternatives(request)
    if any(each.capacity for each in several):
        claimed.problems.append(sentences.CAPACITY_NOT_COUNTED.at((), **called))
    if several[0].admin_access:
        claimed.terms.append(_nodes_with(view, query_of(several[0]), several[0]))
        return
    if ask in counts.narrowed:
        one = counts.narrowed[ask].kinds[0][0].device_class
        note = sentences.FIRST_OF_SEVERAL.at((), device_class=one, **called)
        claimed.problems.append(note.as_note())
    elif ask not in counts.takes:
        name = ask.kinds[0][0].device_class
        claimed.problems.append(sentences.UNEQUAL_NODES.at((), device_class=name, **called))
        return
    claimed.take(counts.taken_by(ask), times)
    if any(_share_counters(view, query) for query, _ in ask.kinds):
        note = sentences.COUNTERS_SHARED.at((), name=ask.kinds[0][0].device_class)
        claimed.problems.append(note.as_note())
    if counts.rough:
        claimed.problems.append(sentences.PARTED.at(()).as_note())


def _share_counters(view: View, query: Query) -> bool:
    """Whether some device of a query counts as one with others."""
    counts_as = view.derive(parts)
    return bool(counts_as) and any(
        shared(counts_as.get(each, each), each) for each in view.derive(matched, query).devices
    )


def _nodes_with(view: View, query: Query, exact: wire.ExactDeviceRequest) -> tuple[Term, ...]:
    """Nodes that have enough devices for who only looks after them, whoever else has them."""
    every = view.derive(devices_of)
    numbers = Counter(every[each].node for each in view.derive(matched, query).devices)
    least = 1 if exact.allocation_mode == "All" else exact.count
    names = tuple(sorted(node for node, number in numbers.items() if number >= least))
    return (Term((Requirement(NAME_FIELD, Operator.IN, names),)),)


def _constraints(
    view: View,
    constraints: Iterable[wire.DeviceConstraint],
    asked: dict[str, tuple[Query, int]],
    called: Mapping[str, str],
) -> Iterator[Problem]:
    """Constraints among devices that counting does not see; those that can never fail are passed over."""
    for each in constraints:
        named = set(each.requests or asked)
        meant = [asked[name] for name in asked if named & {name, name.partition("/")[0]}]
        attribute = each.match_attribute or each.distinct_attribute
        if sum(count for _, count in meant) > 1 and not (
            each.match_attribute and _agree_everywhere(view, attribute, [query for query, _ in meant])
        ):
            yield sentences.CONSTRAINT_NOT_COUNTED.at((), attribute=attribute, **called)


def _agree_everywhere(view: View, attribute: str, queries: list[Query]) -> bool:
    """Whether on every node all devices of some queries have the same value of an attribute."""
    every = view.derive(devices_of)
    values: dict[str, set[wire.Attribute | None]] = {}
    for query in queries:
        for each in view.derive(matched, query).devices:
            offered = every[each]
            domain, _, name = attribute.rpartition("/")
            known = offered.device.attributes
            value = known.get(attribute) or (known.get(name) if domain == offered.driver else None)
            values.setdefault(offered.node, set()).add(value)
    return all(len(found) == 1 and None not in found for found in values.values())
