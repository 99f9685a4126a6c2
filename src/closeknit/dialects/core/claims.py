"""What pods claim by name, turned into what requests can say: resources, and nodes that are accepted.

Claims to devices become resources (see ``devices``), claims to volumes become requirements on nodes (see
``volumes``). A claim that has its devices already pins its pods to their node. What cannot be said is a
problem that names the claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import msgspec

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.resource_nvidia_com_v1beta1 import ComputeDomain
from closeknit.dialects.core.devices import (
    CLASS_PREFIX,
    GROUP,
    Query,
    channel_claim,
    chosen,
    counted,
    devices_of,
    matched,
    query_of,
)
from closeknit.dialects.core.node_filters import narrowed, selector_terms
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.shared_claims import on_one_host
from closeknit.dialects.core.volumes import add_volume, own_claim
from closeknit.dialects.store.view import View
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

    def take(self, names: Iterable[str], count: int) -> None:
        """Count some more of each of these resources."""
        for name in names:
            self.amounts[name] = self.amounts.get(name, 0) + count


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
            takes = view.derive(counted).takes.get(query, ())
            claimed.take((each for each in takes if each != name), amount)
    return _with(pods, claimed), claimed.problems


def _stands_for_devices(view: View, asked: Resources) -> bool:
    return any(_query_for(view, name) is not None for name in asked)


def _query_for(view: View, resource: str) -> Query | None:
    """The devices that a resource stands for; None for most."""
    if "/" not in resource:
        return None
    if resource.startswith(CLASS_PREFIX):
        return Query(resource.removeprefix(CLASS_PREFIX))
    return view.derive(counted).standing_for.get(resource)


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
    counts, asked = view.derive(counted), dict[str, tuple[Query, int]]()
    for request in spec.devices.requests:
        exact = chosen(view, request)
        query = query_of(exact)
        if request.first_available and len(request.first_available) > 1:
            note = sentences.FIRST_OF_SEVERAL.at((), device_class=query.device_class, **called)
            claimed.problems.append(note.as_note())
        found = view.derive(matched, query)
        if found.problem is not None:
            claimed.problems.append(found.problem)
            continue
        if exact.capacity:
            claimed.problems.append(sentences.CAPACITY_NOT_COUNTED.at((), **called))
        if exact.admin_access:
            claimed.terms.append(_nodes_with(view, query, exact))
            continue
        count = _all_of(view, query) if exact.allocation_mode == "All" else exact.count
        if count is None:
            unequal = sentences.UNEQUAL_NODES.at((), device_class=query.device_class, **called)
            claimed.problems.append(unequal)
            continue
        claimed.take(counts.takes.get(query, (str(query),)), count)
        asked[request.name] = (query, count)
        if counts.rough:
            claimed.problems.append(sentences.PARTED.at(()).as_note())
    if sum(count for _, count in asked.values()) > MOST_RESULTS:
        claimed.problems.append(sentences.TOO_MANY_DEVICES.at((), most=MOST_RESULTS, **called))
    claimed.problems.extend(_constraints(view, spec.devices.constraints, asked, called))


def _nodes_with(view: View, query: Query, exact: wire.ExactDeviceRequest) -> tuple[Term, ...]:
    """Nodes that have enough devices for who only looks after them, whoever else has them."""
    every = view.derive(devices_of)
    numbers = Counter(every[each].node for each in view.derive(matched, query).devices)
    least = 1 if exact.allocation_mode == "All" else exact.count
    names = tuple(sorted(node for node, number in numbers.items() if number >= least))
    return (Term((Requirement(NAME_FIELD, Operator.IN, names),)),)


def _all_of(view: View, query: Query) -> int | None:
    """How many devices of a query each node has that has any; None where nodes differ."""
    every, numbers = view.derive(devices_of), dict[str, int]()
    for each in view.derive(matched, query).devices:
        numbers[every[each].node] = numbers.get(every[each].node, 0) + 1
    return min(numbers.values(), default=1) if len(set(numbers.values())) <= 1 else None


def _constraints(
    view: View,
    constraints: Iterable[wire.DeviceConstraint],
    asked: dict[str, tuple[Query, int]],
    called: dict[str, str],
) -> Iterator[Problem]:
    """Constraints among devices that counting does not see; those that can never fail are passed over."""
    for each in constraints:
        meant = [asked[name] for name in each.requests or asked if name in asked]
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


def references(spec: core_v1.PodSpec, pod: ObjectMeta | None = None) -> tuple[Reference, ...]:
    """What a pod claims by name: devices, and volumes that may be reached from some nodes only.

    Claims that are made for its ephemeral volumes have a name once there is a pod.
    """
    return tuple(dict.fromkeys(_references(spec, pod)))


def _references(spec: core_v1.PodSpec, pod: ObjectMeta | None) -> Iterator[Reference]:
    for claim in spec.resource_claims:
        if claim.resource_claim_name:
            yield Reference("ResourceClaim", claim.resource_claim_name)
        elif claim.resource_claim_template_name:
            yield Reference("ResourceClaimTemplate", claim.resource_claim_template_name)
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield Reference("PersistentVolumeClaim", volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            template = _encoded(volume.ephemeral.volume_claim_template.spec).decode()
            if pod is None:
                yield Reference("PersistentVolumeClaim", "", template)
            else:
                name = own_claim(pod.name, volume.name)
                yield Reference("PersistentVolumeClaim", name, template, pod.uid or pod.name)


_encoded = msgspec.json.Encoder().encode
