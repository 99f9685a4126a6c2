"""What KAI refuses or passes over in a PodGroup: minimums, and fields that do not affect placement.

The author of a Job writes some of these fields as labels and annotations, from which they are passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.apis.kai_keys import GPU_FRACTION, GPU_MEMORY
from closeknit.dialects.core.durations import duration_problems
from closeknit.dialects.kai.subgroups import Tree, parent_problems
from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub.many_problems import MOST_OF_A_RULE, first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, Range
from closeknit.hub.sentences import core, hub
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.sentences import wire as wire_sentences

PREEMPTIBILITIES = ("preemptible", "non-preemptible")
BACKOFFS = (-1, 1)
_DURATIONS = ("preemptionDelay", "stalenessGracePeriod")
_SHARES = (GPU_FRACTION, GPU_MEMORY)


def minimum_problems(spec: wire.PodGroupSpec, tree: Tree, *, exists: bool = False) -> Iterator[Problem]:
    """Leaves count the pods that must run at once; all others may count their children.

    KAI refuses a new PodGroup in which a subgroup with children counts pods. Of one that ``exists`` already
    it passes over the number with a warning.
    """
    yield from _both_or_negative(("spec",), spec.min_member, spec.min_sub_group)
    path, children = ("spec", "minSubGroup"), len(tree.children[""])
    if spec.min_sub_group is not None and not children:
        yield sentences.NO_SUBGROUPS_TO_COUNT.at(path, field=tree.field)
    elif spec.min_sub_group is not None:
        yield from _more_than(children, spec.min_sub_group, path)
    yield from first_of(_subgroup_problems(tree, exists=exists))
    for i in tree.repeated[:MOST_OF_A_RULE]:
        # Whose the children are is not clear where a name stands twice, so neither is reported to have none.
        given, place = tree.given[i], tree.place(i)
        yield from parent_problems(tree, given, place)
        yield from _minimum_problems(given, place, 0, parent=given.name in tree.meant, exists=exists)


def _subgroup_problems(tree: Tree, *, exists: bool) -> Iterator[Problem]:
    for name, given in tree.subgroups.items():
        least, inner, children = given.min_member, given.min_sub_group, len(tree.children[name])
        if children:
            fine = least is None and (inner is None or 0 <= inner <= children)
        else:
            fine = least is not None and least >= 0 and inner is None
        if not fine:
            parent = name in tree.meant
            yield from _minimum_problems(given, tree.path(name), children, parent=parent, exists=exists)


def _minimum_problems(
    given: wire.SubGroup, path: Path, children: int, *, parent: bool, exists: bool
) -> Iterator[Problem]:
    name = given.name
    pods, groups = (*path, "minMember"), (*path, "minSubGroup")
    yield from _both_or_negative(path, given.min_member, given.min_sub_group)
    both = given.min_member is not None and given.min_sub_group is not None
    if children:
        if given.min_member is not None and not both:
            code = sentences.PARENT_COUNTED_PODS if exists else sentences.PARENT_COUNTS_PODS
            yield code.at(pods, name=name)
        if given.min_sub_group is not None:
            yield from _more_than(children, given.min_sub_group, groups)
    elif not parent:
        if given.min_sub_group is not None and not both:
            yield sentences.LEAF_COUNTS_SUBGROUPS.at(groups, name=name)
        elif given.min_member is None:
            yield sentences.LEAF_WITHOUT_MINIMUM.at(pods, name=name)


def _more_than(children: int, wanted: int, path: Path) -> Iterator[Problem]:
    if wanted > children:
        yield sentences.MORE_THAN_CHILDREN.at(path, value=wanted, allowed=Range(0, children))


def _both_or_negative(path: Path, min_member: int | None, min_sub_group: int | None) -> Iterator[Problem]:
    if min_member is not None and min_sub_group is not None:
        yield sentences.TWO_MINIMUMS.at((*path, "minSubGroup"))
    for field, value in (("minMember", min_member), ("minSubGroup", min_sub_group)):
        if value is not None and value < 0:
            yield hub.NEGATIVE.at((*path, field), value=value)


def field_problems(written: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of the fields of a PodGroup that do not affect placement, as the manifest has them."""
    spec = written.get("spec")
    if not isinstance(spec, dict):
        return
    for field in ("preemptibility", *_DURATIONS):
        value, path = spec.get(field), ("spec", field)
        if isinstance(value, str):
            if value or field == "preemptibility":
                yield from value_problems(field, value, path)
        elif value is not None:
            yield wire_sentences.WRONG_TYPE.at(path, found=worded(value), expected="a string", remedy="")
    backoff = spec.get("schedulingBackoff")
    if backoff is not None and (type(backoff) is not int or backoff not in BACKOFFS):
        # What kind of value it is does not matter where only two are allowed.
        plain = worded(backoff).partition(",")[0]
        yield sentences.NOT_A_BACKOFF.at(("spec", "schedulingBackoff"), value=plain)
    marked = spec.get("markUnschedulable")
    if marked is not None and not isinstance(marked, bool):
        path = ("spec", "markUnschedulable")
        yield wire_sentences.WRONG_TYPE.at(path, found=worded(marked), expected="true or false", remedy="")


def value_problems(field: str, value: str, path: Path) -> Iterator[Problem]:
    """Why one of these fields cannot have this text, which stands at the path."""
    if field == "preemptibility":
        if value not in PREEMPTIBILITIES:
            yield core.UNKNOWN_CHOICE.at(path, value=value, remedy=OneOf(value, PREEMPTIBILITIES))
        return
    # Less than no time stands for never, which only the grace period can be.
    yield from duration_problems(path, value, negative=field == "stalenessGracePeriod")


def share_problems(annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Parts of a GPU that a pod with these annotations asks for: the hub counts whole units only."""
    for key in _SHARES:
        if key in annotations:
            yield sentences.SHARED_GPU.at(("metadata", "annotations", key))
