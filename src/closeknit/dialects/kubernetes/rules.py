"""What Kubernetes allows in PodGroups and Workloads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.apis.scheduling_k8s_io_v1alpha2 import GroupTerms, PodGroup, PodGroupSpec, Workload
from closeknit.dialects.core.naming import is_label_key
from closeknit.dialects.family import Compiled
from closeknit.dialects.kubernetes.topologies import keys_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kubernetes as sentences

GROUP = "scheduling.k8s.io"
GROUP_MODE = "PodGroup"
"""The disruption mode of a group of which all pods are evicted together."""
MODES = ("Pod", GROUP_MODE)
MOST_TEMPLATES, MOST_CLAIMS = 8, 4
_PRIORITIES = Range(-(2**31), 10**9)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def pods_awaited(group: PodGroup) -> int:
    """How many pods a PodGroup must have at least."""
    gang = group.spec.scheduling_policy.gang
    return gang.min_count if gang is not None else 0


def term_problems(given: GroupTerms, path: Path) -> Iterator[Problem]:
    """Everything that is wrong with the terms of a group."""
    policy = given.scheduling_policy
    if (policy.basic is None) == (policy.gang is None):
        yield sentences.NOT_ONE_POLICY.at((*path, "schedulingPolicy"))
    if policy.gang is not None and policy.gang.min_count < 1:
        where = (*path, "schedulingPolicy", "gang", "minCount")
        yield sentences.NO_GANG.at(where, value=policy.gang.min_count)
    keys, where = list(keys_of(given)), (*path, "schedulingConstraints", "topology")
    if len(keys) > 1:
        yield sentences.SECOND_CONSTRAINT.at(where, count=len(keys))
    for i, key in enumerate(keys):
        if not is_label_key(key):
            yield sentences.NOT_A_TOPOLOGY_KEY.at((*where, i, "key"), key=key)
    claims = given.resource_claims
    if len(claims) > MOST_CLAIMS:
        yield sentences.TOO_MANY.at(
            (*path, "resourceClaims"), count=len(claims), what="claims", most=MOST_CLAIMS
        )
    yield from _name_problems((*path, "resourceClaims"), [each.name for each in claims])
    for i, claim in enumerate(claims):
        if bool(claim.resource_claim_name) == bool(claim.resource_claim_template_name):
            yield sentences.NOT_ONE_CLAIM.at((*path, "resourceClaims", i))
    if given.disruption_mode and given.disruption_mode not in MODES:
        remedy = OneOf(given.disruption_mode, MODES)
        where = (*path, "disruptionMode")
        yield core.UNKNOWN_CHOICE.at(where, value=given.disruption_mode, remedy=remedy)
    if given.priority is not None and given.priority > _PRIORITIES.most:
        yield core.OUT_OF_RANGE.at((*path, "priority"), value=given.priority, allowed=_PRIORITIES)


def _name_problems(path: Path, names: list[str]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if not _LABEL.fullmatch(name):
            yield sentences.NOT_A_PART_NAME.at((*path, i, "name"), name=name)
        elif first.setdefault(name, i) != i:
            where = (*path, i, "name")
            yield sentences.PART_NAME_TAKEN.at(where, name=name, first=Field((*path, first[name])))


def reference_problems(spec: PodGroupSpec, namespace: str, view: View) -> Iterator[Problem]:
    """A template that is not there, where any Workload is."""
    meant = spec.pod_group_template_ref.workload if spec.pod_group_template_ref is not None else None
    known = [key.name for key in view.keys(Workload) if key.namespace == namespace]
    if meant is None or not known or view.lenient:
        return
    path: Path = ("spec", "podGroupTemplateRef", "workload")
    name = meant.workload_name
    if name not in known:
        remedy = OneOf.among(name, known)
        yield core.NOT_FOUND.at((*path, "workloadName"), kind="Workload", name=name, remedy=remedy)
        return
    stored = view.get(Key(GROUP, "Workload", namespace, name))
    templates = [each.name for each in stored.content.spec.pod_group_templates] if stored is not None else []
    template = meant.pod_group_template_name
    if stored is not None and template not in templates:
        remedy = OneOf.among(template, templates)
        where = (*path, "podGroupTemplateName")
        yield core.NOT_FOUND.at(where, kind="template", name=template, remedy=remedy)


def _template_of(group: Stored[PodGroup]) -> Iterator[tuple[str, str, str]]:
    reference = group.content.spec.pod_group_template_ref
    if reference is not None and (meant := reference.workload) is not None:
        yield group.namespace, meant.workload_name, meant.pod_group_template_name


GROUPS_BY_TEMPLATE = Index("kubernetes-pod-groups-by-template", PodGroup, _template_of)
"""PodGroups by namespace, Workload and template."""


def compile_workload(stored: Stored[Workload], view: View) -> Compiled:
    """A Workload asks for nothing by itself: its PodGroups do."""
    spec, path = stored.content.spec, ("spec", "podGroupTemplates")
    found: list[Problem] = []
    templates = spec.pod_group_templates
    if not templates:
        found.append(sentences.NO_TEMPLATES.at(path))
    if len(templates) > MOST_TEMPLATES:
        found.append(sentences.TOO_MANY.at(path, count=len(templates), what="templates", most=MOST_TEMPLATES))
    found.extend(_name_problems(path, [each.name for each in templates]))
    for i, template in enumerate(templates):
        found.extend(term_problems(template, (*path, i)))
    notes = tuple(
        sentences.TEMPLATE_WITHOUT_GROUP.at((*path, i), template=each.name)
        for i, each in enumerate(templates)
        if not any(view.found(GROUPS_BY_TEMPLATE.name, (stored.namespace, stored.name, each.name)))
    )
    return Compiled(problems=tuple(found), notes=() if found or stored.problems else notes)


def update_problems(
    old: Stored[PodGroup] | Stored[Workload], new: Stored[PodGroup] | Stored[Workload], _: View
) -> Iterator[Problem]:
    """Nothing that these say can change."""
    if old.content.spec != new.content.spec:
        yield sentences.FIXED.at(("spec",), kind=new.object.kind)
