"""What is admitted follows from the category of a problem, whichever message it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from closeknit.admission.requests import Request
from closeknit.admission.review import review
from closeknit.admission.reviewer import FAMILIES
from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects import DIALECTS
from closeknit.dialects.family import Compiled, Family
from closeknit.dialects.reading import load_documents
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.problems import Category, Code, Problem
from closeknit.hub.sentences import core, kai, kueue, wire
from closeknit.hub.sentences import text as text_messages
from closeknit.text.documents import Document
from tests.kit.problems import catalogue, findings

WORKLOAD = """
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g, namespace: default},
  spec: {minMember: 1, queue: team}}
"""
DESCRIPTION = """
{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: team}, spec: {parentQueue: all}}
"""
OTHER_QUEUE = """
{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: others}, spec: {}}
"""
CATEGORIES: dict[Category, tuple[Code, ...]] = {
    Category.WAITING: (
        kueue.NO_CLUSTER_QUEUE,
        kueue.CLUSTER_QUEUE_MISSING,
        kueue.LOCAL_QUEUE_UNUSABLE,
        kueue.LEADS_NOWHERE,
        kueue.QUEUE_NOT_ACTIVE,
        kueue.NO_FLAVOR_FITS,
        kueue.NO_QUOTA,
        kueue.NO_TOPOLOGY_FITS,
        kueue.NO_TOPOLOGY_FLAVOR,
        kueue.TWO_TOPOLOGY_FLAVORS,
        kueue.GROUP_INCOMPLETE,
    ),
    Category.UNRESOLVED_REFERENCE: (core.NOT_FOUND, core.HAS_PROBLEMS),
    Category.SKIPPABLE: (wire.UNKNOWN_FIELD, text_messages.KEY_TWICE),
}
"""Every code that is not ``INVALID``."""


def problem_of(code: Code) -> Problem:
    return code.at(("spec",), **dict.fromkeys(code.fields, "x"))


def family_that_reports(problem: Problem) -> Family:
    """KAI's family, with nothing to say of any PodGroup or Queue but this problem."""

    def compile_group(_: Stored[PodGroup], __: View) -> Compiled:
        return Compiled(problems=(problem,))

    def check_queue(_: Stored[Queue], __: View) -> Iterator[Problem]:
        yield problem

    return replace(FAMILIES["kai"], compile={PodGroup: compile_group}, check={Queue: check_queue})


def view_of(*manifests: str) -> View:
    documents = [Document("cluster", None, yaml.safe_load(manifest)) for manifest in manifests]
    return load_documents(DIALECTS, documents, lenient=False).view


def refused(family: Family, manifest: str, *others: str) -> tuple[Problem, ...]:
    """The problems for which a new object is refused."""
    obj: dict[str, Any] = yaml.safe_load(manifest)
    group, _, version = obj["apiVersion"].rpartition("/")
    request = Request(
        operation="CREATE",
        group=group,
        version=version,
        kind=obj["kind"],
        namespace=obj["metadata"].get("namespace", ""),
        name=obj["metadata"]["name"],
        user="somebody",
        obj=obj,
    )
    return review(family, request, view_of(*others), frozenset()).problems


def test_every_code_has_the_category_of_the_table() -> None:
    listed = {code.name: category for category, codes in CATEGORIES.items() for code in codes}

    assert {
        code.name: code.category for _, _, code in catalogue() if code.category is not Category.INVALID
    } == listed


@pytest.mark.parametrize("code", CATEGORIES[Category.WAITING], ids=lambda code: code.name)
def test_what_another_object_may_resolve_is_admitted(code: Code) -> None:
    family = family_that_reports(problem_of(code))

    assert refused(family, WORKLOAD) == ()
    assert refused(family, DESCRIPTION) == ()


@pytest.mark.parametrize("code", CATEGORIES[Category.UNRESOLVED_REFERENCE], ids=lambda code: code.name)
def test_only_an_object_that_describes_something_may_wait_for_what_it_names(code: Code) -> None:
    problem = problem_of(code)
    family = family_that_reports(problem)

    assert refused(family, WORKLOAD) == (problem,)
    assert refused(family, DESCRIPTION) == ()


@pytest.mark.parametrize(
    "code",
    [*CATEGORIES[Category.SKIPPABLE], kueue.TWO_TOPOLOGIES, kueue.NO_LOCAL_QUEUE, kai.NO_QUEUE_NAMED],
    ids=lambda code: code.name,
)
def test_any_other_problem_is_a_reason_to_refuse(code: Code) -> None:
    problem = problem_of(code)
    family = family_that_reports(problem)

    assert refused(family, WORKLOAD) == (problem,)
    assert refused(family, DESCRIPTION) == (problem,)


def test_a_problem_may_wait_though_its_code_may_not() -> None:
    problem = problem_of(core.NOT_FOUND)
    waiting = problem.as_waiting()

    assert (problem.category, waiting.category) == (Category.UNRESOLVED_REFERENCE, Category.WAITING)
    assert findings([waiting]) == findings([problem])
    assert str(waiting) == str(problem)
    assert waiting.as_note().category is Category.WAITING
    assert waiting.under("spec").category is Category.WAITING
    assert refused(family_that_reports(waiting), WORKLOAD) == ()


def test_a_workload_is_admitted_before_its_queue_exists() -> None:
    view = view_of(WORKLOAD, OTHER_QUEUE)
    (stored,) = view.of(PodGroup)
    (problem,) = FAMILIES["kai"].compile[PodGroup](stored, view).problems

    assert [reported.code for reported in findings([problem])] == ["not-found"]
    assert problem.category is Category.WAITING
    assert refused(FAMILIES["kai"], WORKLOAD, OTHER_QUEUE) == ()


def test_a_queue_is_admitted_before_its_parent_exists() -> None:
    assert refused(FAMILIES["kai"], DESCRIPTION, OTHER_QUEUE) == ()


def test_a_workload_of_a_priority_class_that_does_not_exist_is_refused() -> None:
    group = WORKLOAD.replace("queue: team", "priorityClassName: high")
    (problem,) = refused(FAMILIES["kai"], group)

    (reported,) = findings([problem])
    assert (reported.where, reported.code) == ("spec.priorityClassName", core.NOT_FOUND.name)
    assert problem.category is Category.UNRESOLVED_REFERENCE
