"""Pods as objects, from what the hub knows of them. What is read back is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.hub.neighbours import Near, Neighbour, PodSelector, Spread
from closeknit.hub.nodes import NAME_FIELD, NodeFilter, Requirement, Term, Toleration
from closeknit.hub.quantities import written
from closeknit.hub.request import HostPort, Member, PodSet
from closeknit.hub.resources import Resources, is_extended

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
IMAGE = "registry.k8s.io/pause:3.10"
"""What runs in a pod of which nothing is known but what it asks for."""


def only_pods(member: Member) -> PodSet | None:
    """The pod set that is all of a member: itself, or the only one of a group that must be formed."""
    if isinstance(member, PodSet):
        return member
    only = member.members[0] if len(member.members) == 1 and member.least == 1 else None
    return only if isinstance(only, PodSet) else None


def pod_spec(pods: PodSet, image: str = IMAGE) -> dict[str, Any]:
    """One container that asks for what each of these pods does, and accepts the same nodes."""
    container: dict[str, Any] = {"name": "main", "image": image}
    if resources := _resources(pods.resources):
        container["resources"] = resources
    if pods.host_ports:
        container["ports"] = [port_object(each) for each in sorted(pods.host_ports)]
    claims, volumes = [], []
    for i, each in enumerate(pods.claims):
        match each.kind:
            case "ResourceClaim" | "ResourceClaimTemplate":
                claims.append({"name": f"claim-{i}", f"{each.kind[0].lower()}{each.kind[1:]}Name": each.name})
            case "PersistentVolumeClaim" if not each.template:
                claim = {"claimName": each.name}
                volumes.append({"name": f"volume-{i}", "persistentVolumeClaim": claim})
            case _:
                # What else the template of an ephemeral volume says is not known.
                pass
    if claims:
        used = [{"name": each["name"]} for each in claims]
        container["resources"] = {**container.get("resources", {}), "claims": used}
    named = (("resourceClaims", claims), ("volumes", volumes))
    more = {field: listed for field, listed in named if listed}
    fields = _node_fields(pods.filter)
    if affinity := {**fields.pop("affinity", {}), **_pod_affinity(pods.neighbour)}:
        fields["affinity"] = affinity
    if spreads := [each for each in pods.neighbour.rules if isinstance(each, Spread)]:
        fields["topologySpreadConstraints"] = [_constraint(each) for each in spreads]
    return {"containers": [container], **more, **fields}


def pod_labels(pods: PodSet) -> dict[str, str]:
    """The labels by which other pods know these."""
    return dict(pods.neighbour.labels)


def _pod_affinity(given: Neighbour) -> dict[str, Any]:
    """Affinity and anti-affinity among pods, as Kubernetes writes them."""
    found: dict[str, Any] = {}
    for rule in given.rules:
        if isinstance(rule, Spread):
            continue
        field = "podAffinity" if isinstance(rule, Near) else "podAntiAffinity"
        for key in rule.keys if isinstance(rule, Near) else (rule.key,):
            terms = _pod_terms(key, rule.selector, given.namespace)
            if rule.weight is None:
                found.setdefault(field, {}).setdefault(_REQUIRED, []).extend(terms)
            else:
                wished = ({"weight": rule.weight, "podAffinityTerm": term} for term in terms)
                found.setdefault(field, {}).setdefault(_PREFERRED, []).extend(wished)
    return found


def _pod_terms(key: str, selector: PodSelector, own: str) -> Iterator[dict[str, Any]]:
    """A term for each list of namespaces; Kubernetes means the pods that all required ones mean."""
    if selector.namespaces is not None or not selector.within:
        yield _pod_term(key, selector, own)
    for each in selector.within:
        named = {"namespaces": sorted(each.named)} if each.named else {}
        labelled = {"matchExpressions": [_requirement(one) for one in each.requirements]}
        chosen = {"namespaceSelector": labelled, "labelSelector": _label_selector(selector)}
        yield {"topologyKey": key, **named, **chosen}


def _pod_term(key: str, selector: PodSelector, own: str) -> dict[str, Any]:
    term: dict[str, Any] = {"topologyKey": key}
    if selector.namespaces is None:
        term["namespaceSelector"] = {}
    elif selector.namespaces and selector.namespaces != {own}:
        term["namespaces"] = sorted(selector.namespaces)
    if selector.namespaces is None or selector.namespaces:
        # Without a selector nobody is meant.
        term["labelSelector"] = _label_selector(selector)
    return term


def _label_selector(selector: PodSelector) -> dict[str, Any]:
    return {"matchExpressions": [_requirement(each) for each in selector.requirements]}


def _constraint(rule: Spread) -> dict[str, Any]:
    found: dict[str, Any] = {
        "topologyKey": rule.key,
        "maxSkew": rule.skew,
        "whenUnsatisfiable": "DoNotSchedule" if rule.required else "ScheduleAnyway",
    }
    if rule.selector.namespaces is None or rule.selector.namespaces:
        found["labelSelector"] = _label_selector(rule.selector)
    if rule.min_domains is not None:
        found["minDomains"] = rule.min_domains
    if not rule.heeds_filter:
        found["nodeAffinityPolicy"] = "Ignore"
    if rule.heeds_taints:
        found["nodeTaintsPolicy"] = "Honor"
    return found


def port_object(port: HostPort) -> dict[str, Any]:
    """A port of a container that is a port of its node, as Kubernetes writes it."""
    at = {"hostIP": port.address} if port.address else {}
    return {"containerPort": port.port, "hostPort": port.port, "protocol": port.protocol, **at}


def _resources(asked: Resources) -> dict[str, Any]:
    """Requests, and limits where Kubernetes insists on them: for everything that it does not know itself."""
    requests = {name: written(name, units) for name, units in asked.items() if name != "pods"}
    limits = {name: text for name, text in requests.items() if is_extended(name)}
    return {key: value for key, value in (("limits", limits), ("requests", requests)) if value}


def _node_fields(given: NodeFilter) -> dict[str, Any]:
    """The fields of a pod's spec that choose its nodes."""
    found: dict[str, Any] = {}
    if given.selector:
        found["nodeSelector"] = dict(given.selector)
    affinity: dict[str, Any] = {}
    if given.affinity is not None:
        # A term without requirements matches no node, and so do no terms at all, which cannot be written.
        terms = [_term(term) for term in given.affinity] or [{}]
        affinity[_REQUIRED] = {"nodeSelectorTerms": terms}
    if given.preferences:
        affinity[_PREFERRED] = [
            {"weight": each.weight, "preference": _term(each.term)} for each in given.preferences
        ]
    if affinity:
        found["affinity"] = {"nodeAffinity": affinity}
    if given.tolerations:
        found["tolerations"] = [toleration_object(each) for each in given.tolerations]
    return found


def _term(term: Term) -> dict[str, Any]:
    labels = [_requirement(each) for each in term.requirements if each.key != NAME_FIELD]
    fields = [_requirement(each) for each in term.requirements if each.key == NAME_FIELD]
    return {key: value for key, value in (("matchExpressions", labels), ("matchFields", fields)) if value}


def _requirement(given: Requirement) -> dict[str, Any]:
    found: dict[str, Any] = {"key": given.key, "operator": given.operator.value}
    if given.values:
        found["values"] = list(given.values)
    return found


def toleration_object(given: Toleration) -> dict[str, Any]:
    """A toleration as Kubernetes writes it."""
    found: dict[str, Any] = {"operator": "Exists" if given.value is None else "Equal"}
    if given.key:
        found["key"] = given.key
    if given.value:
        found["value"] = given.value
    if given.effect is not None:
        found["effect"] = given.effect.value
    return found
