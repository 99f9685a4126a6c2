"""Files without apiVersion and kind, which are the spec of the object that carries them."""

from __future__ import annotations

import pytest

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Wire
from closeknit.dialects.family import Compiled, Described, Family
from closeknit.dialects.reading import Reading, load, reading_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind, OwnFile
from closeknit.hub.problems import Code
from closeknit.hub.sentences import wire
from closeknit.hub.workload import InvalidWorkload
from closeknit.text.documents import Source
from tests.kit.common_problems import unknown_field, wrong_type
from tests.kit.problems import Finding, finding, findings


class Inner(Wire, frozen=True, kw_only=True):
    name: str


class File(Wire, frozen=True, kw_only=True):
    recipe: Inner
    steps: tuple[str, ...] | None = None


class Recipe(KubernetesObject, frozen=True, kw_only=True):
    spec: File


BURNT = Code("burnt", "Do not burn it.")


def _compile(stored: Stored[Recipe], _: View) -> Compiled:
    burnt = stored.content.spec.steps == ("burn",)
    problems = (BURNT.at(("spec", "steps", 0)),) if burnt else ()
    return Compiled((InvalidWorkload(stored.object, "cooking", ()),), problems)


COOKING = Family(
    name="cooking",
    kinds=(
        Kind(
            "cook.dev",
            "Recipe",
            ("v2", "v1"),
            Recipe,
            own_file=OwnFile("recipe", ("recipe", "name")),
            workload=True,
        ),
    ),
    topologies=lambda _: Described(),
    compile={Recipe: _compile},
)


def reading(*texts: str) -> Reading:
    return reading_of(load((COOKING,), [Source("f", "\n---\n".join(texts).encode())]))


def reported(*texts: str) -> list[Finding]:
    return findings(reading(*texts).problems)


def test_a_file_is_read_as_the_object_that_carries_it() -> None:
    whole = "{apiVersion: cook.dev/v2, kind: Recipe, metadata: {name: soup}, spec: {recipe: {name: Soup}}}"

    (by_file,) = reading("recipe: {name: Soup}").workloads
    (by_object,) = reading(whole).workloads

    assert by_file == by_object
    assert by_file.object.name == "soup"


def test_names_are_spelt_as_kubernetes_allows() -> None:
    (workload,) = reading("recipe: {name: Hot_Soup}").workloads

    assert workload.object.name == "hot-soup"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "{recipe: {name: soup}, steps: 5}",
            [wrong_type("1:steps", 5, list)],
            id="a path starts at the top of the file, where there is no spec",
        ),
        pytest.param(
            "{recipe: {}}", [finding(wire.MISSING_FIELD, "1:recipe.name")], id="a name that is missing"
        ),
        pytest.param(
            "{recipe: {name: so up}}",
            [finding(wire.INVALID_NAME, "1:recipe.name", name="so up")],
            id="a name that cannot be one is told where the file gives it",
        ),
        pytest.param(
            "{recipe: {name: soup}, setps: []}",
            [unknown_field("1:setps", "recipe", "steps")],
            id="a misspelt field",
        ),
        pytest.param(
            "{recipe: {name: soup}, steps: [burn]}",
            [finding(BURNT, "1:steps[0]")],
            id="a problem that the dialect finds",
        ),
        pytest.param(
            "{kind: Recipe, recipe: {name: soup}}",
            [finding(wire.UNTYPED_OBJECT, "1:apiVersion", field="apiVersion", example="v1")],
            id="a document that gives a kind is no file of its own",
        ),
        pytest.param(
            "{receipt: {name: soup}}",
            [finding(wire.UNTYPED_OBJECT, "1:apiVersion", field="apiVersion", example="v1")],
            id="a document that nobody knows",
        ),
    ],
)
def test_problems_stand_where_the_author_wrote(text: str, want: list[Finding]) -> None:
    assert reported(text) == want


def test_two_files_of_one_name_are_told_apart_by_their_place() -> None:
    assert reported("recipe: {name: soup}", "recipe: {name: Soup}") == [
        finding(wire.OBJECT_TWICE, "2:recipe.name", kind="Recipe", name="soup", origin="f, document 1")
    ]


def test_a_file_may_be_an_item_of_a_list() -> None:
    text = "{apiVersion: v1, kind: List, items: [{recipe: {name: soup}, steps: [burn]}]}"

    assert reported(text) == [finding(BURNT, "1:items[0].steps[0]")]
