"""The PodGroups of what the table of pod makers knows: training jobs, Ray, Spark, sets of pods."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.pod_makers import PodMaker
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.pod_makers import RAY_GROUP, SUBMITTER, made_pods
from closeknit.dialects.core.pod_roles import Gang, PodRole
from closeknit.dialects.kai.implicit_groups import NO_CONSTRAINT, ImplicitGroup, Leaf, Outline, Template
from closeknit.dialects.kai.owner_fields import Owner, constraint_of, is_finished
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.decoding import decode
from closeknit.hub.problems import Problem

NOT_GROUPED = ("AppWrapper", "PaddleJob")
"""Kinds of the table that KAI does not know: their pods are grouped one by one."""


def maker_owner(stored: Stored[PodMaker]) -> Owner:
    """An object with the templates of its pods, and the metadata of what stands between them."""
    made = made_pods(stored.written, stored.key.group, stored.key.kind)
    templates = {role.path: _template(role) for gang in made.gangs for role in gang.roles}
    between, _ = decode(ObjectMeta, dict(value_at(stored.written, ("spec", "jobTemplate", "metadata"))))
    return Owner(stored, tuple(templates.values()), (between,) if between is not None else ())


def maker_groups(owner: Owner) -> Iterator[ImplicitGroup]:
    """A PodGroup for each gang: with a subgroup for each role, or without any where there is only one."""
    stored = owner.stored
    if is_finished(stored.content.status):
        return
    made = made_pods(stored.written, stored.key.group, stored.key.kind)
    found: list[Problem] = [*made.problems]
    for gang in made.gangs:
        roles = [role for role in gang.roles if role.name != SUBMITTER]
        alone = len(roles) == 1 and RAY_GROUP not in roles[0].labels
        leaves = tuple(_leaf(stored.name, gang, role, alone=alone) for role in roles if role.count or alone)
        outline = Outline(
            leaves,
            controllers=(stored.key,),
            labels={},
            constraint=owner.constraint(),
            min_member=sum(leaf.minimum for leaf in leaves),
            suffix=gang.suffix,
        )
        yield owner.implicit_group(outline, found)


def _leaf(name: str, gang: Gang, role: PodRole, *, alone: bool) -> Leaf:
    stem = f"{name}{gang.suffix}" if alone else f"{name}{gang.suffix}-{role.name}"
    only = alone and gang.suffix and role.count == 1
    path = role.path
    annotations = (*path, "metadata", "annotations")
    own = constraint_of(role.template.metadata.annotations, annotations)
    return Leaf(
        name="" if alone else role.labels.get(RAY_GROUP, role.name),
        template=_template(role),
        pods=(stem,) if only else tuple(f"{stem}-{i}" for i in range(role.count)),
        minimum=role.count if role.minimum is None else role.minimum,
        minimum_path=role.minimum_path or path,
        constraint=own if RAY_GROUP in role.labels else NO_CONSTRAINT,
        labels=role.labels,
        index_label=role.index_label,
    )


def _template(role: PodRole) -> Template:
    return Template(role.path, role.template, role.written)
