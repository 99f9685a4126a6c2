"""Custom kinds: what their definitions may say, and what their schemas hold."""

from __future__ import annotations

import pytest

from closeknit.kube.errors import BadRequestError, InvalidObjectError
from closeknit.kube.port import MergePatch, Object
from closeknit.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
)
from tests.conformance.cluster import DEFINITIONS, PLAIN_WIDGETS, WIDGETS, Cluster, eventually


async def test_a_schema_fills_in_defaults(widgets: Cluster) -> None:
    made = await widgets.create_widget()

    assert made["spec"] == {"size": "small", "color": "red", "replicas": 1}


async def test_unknown_fields_are_pruned(widgets: Cluster) -> None:
    body = widgets.widget(spec={"unknown": 1, "parts": [{"name": "a", "unknown": 2}]}) | {"extra": 3}
    made = await widgets.api.create(WIDGETS, body)

    assert "extra" not in made
    assert "unknown" not in made["spec"]
    assert made["spec"]["parts"] == [{"name": "a"}]


async def test_unknown_fields_are_kept_where_the_schema_says_so(widgets: Cluster) -> None:
    free = {"any": {"thing": [1, "two", None]}}
    made = await widgets.create_widget(spec={"free": free})
    assert made["spec"]["free"] == free

    plain: Object = {"apiVersion": PLAIN_WIDGETS.api_version, "kind": "PlainWidget"}
    plain["metadata"] = {"name": widgets.unique("plain")}
    assert (await widgets.api.create(PLAIN_WIDGETS, plain | {"any": 1}))["any"] == 1


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        pytest.param({"size": None}, "spec.size", "FieldValueRequired", id="a required field"),
        pytest.param({"size": "medium"}, "spec.size", "FieldValueNotSupported", id="an enum"),
        pytest.param({"size": 3}, "spec.size", "FieldValueTypeInvalid", id="a type"),
        pytest.param({"color": "RED"}, "spec.color", "FieldValueInvalid", id="a pattern"),
        pytest.param({"color": "a" * 11}, "spec.color", "FieldValueTooLong", id="a length"),
        pytest.param({"replicas": 11}, "spec.replicas", "FieldValueInvalid", id="a maximum"),
        pytest.param({"replicas": -1}, "spec.replicas", "FieldValueInvalid", id="a minimum"),
        pytest.param({"replicas": 1.5}, "spec.replicas", "FieldValueTypeInvalid", id="a whole number"),
        pytest.param({"tags": list("abcd")}, "spec.tags", "FieldValueTooMany", id="a number of items"),
        pytest.param({"tags": [1]}, "spec.tags[0]", "FieldValueTypeInvalid", id="a type in a list"),
        pytest.param(
            {"limits": {"a": "b"}}, "spec.limits.a", "FieldValueTypeInvalid", id="a type in a mapping"
        ),
        pytest.param(
            {"parts": [{"name": "a"}, {"name": "a"}]},
            "spec.parts[1]",
            "FieldValueDuplicate",
            id="a key of a list twice",
        ),
        pytest.param(
            {"marks": ["a", "a"]}, "spec.marks[1]", "FieldValueDuplicate", id="an item of a set twice"
        ),
        pytest.param(
            {"parts": [{"weight": 1}]}, "spec.parts[0].name", "FieldValueRequired", id="a key of a list"
        ),
    ],
)
async def test_a_schema_holds(widgets: Cluster, spec: Object, field: str, reason: str) -> None:
    body = widgets.widget(spec=spec)
    if spec.get("size", "") is None:
        del body["spec"]["size"]
    with pytest.raises(InvalidObjectError) as raised:
        await widgets.api.create(WIDGETS, body)

    assert (field, reason) in [(cause.field, cause.reason) for cause in raised.value.status.causes]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"amount": 3}, id="a number or a text: a number"),
        pytest.param({"amount": "3Gi"}, id="a number or a text: a text"),
        pytest.param({"note": None}, id="null where it is allowed"),
        pytest.param({"limits": {"a": 1}}, id="a mapping"),
        pytest.param({"replicas": 10}, id="the maximum itself"),
    ],
)
async def test_a_schema_allows(widgets: Cluster, spec: Object) -> None:
    made = await widgets.create_widget(spec=spec)

    assert {key: made["spec"].get(key) for key in spec} == spec


async def test_null_is_nothing_where_it_is_not_allowed(widgets: Cluster) -> None:
    made = await widgets.create_widget(spec={"color": None})

    assert made["spec"]["color"] == "red"


async def test_a_schema_holds_for_patches(widgets: Cluster) -> None:
    made = await widgets.create_widget("w")
    with pytest.raises(InvalidObjectError):
        await widgets.api.patch(
            WIDGETS, "w", MergePatch({"spec": {"size": "medium"}}), namespace=widgets.namespace
        )
    assert await widgets.get(WIDGETS, made) == made


async def test_a_schema_holds_for_the_status(widgets: Cluster) -> None:
    made = await widgets.create_widget("w")
    with pytest.raises(InvalidObjectError) as raised:
        await widgets.api.replace(WIDGETS, made | {"status": {"replicas": "many"}}, subresource="status")
    assert "status.replicas" in [cause.field for cause in raised.value.status.causes]


async def test_a_definition_says_that_it_is_established(widgets: Cluster) -> None:
    definition = await widgets.api.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified)

    conditions = {each["type"]: each["status"] for each in definition["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert definition["status"]["acceptedNames"]["kind"] == "Widget"
    assert definition["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"metadata": {"name": "other.conformance.closeknit.dev"}}, id="a name that does not fit"
        ),
        pytest.param({"spec": {"versions": []}}, id="no versions"),
        pytest.param({"spec": {"scope": "Galaxy"}}, id="a scope that is none"),
        pytest.param({"spec": {"group": "Bad Group"}}, id="a group that is none"),
    ],
)
async def test_a_definition_that_breaks_a_rule(cluster: Cluster, change: Object) -> None:
    definition = DEFINITIONS[0]
    body = definition | {
        "metadata": {"name": f"things.{cluster.run}.dev"} | change.get("metadata", {}),
        "spec": definition["spec"] | {"group": f"{cluster.run}.dev"} | change.get("spec", {}),
    }
    body["spec"]["names"] = {
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "listKind": "ThingList",
    }
    with pytest.raises((InvalidObjectError, BadRequestError)):
        await cluster.api.create(CUSTOM_RESOURCE_DEFINITIONS, body)


async def test_what_a_definition_defined_goes_with_it(cluster: Cluster) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    group = f"g{cluster.run}.closeknit.dev"
    definition = DEFINITIONS[1]
    body = definition | {
        "metadata": {"name": f"things.{group}"},
        "spec": definition["spec"] | {"group": group, "names": names},
    }
    await cluster.api.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    things = type(WIDGETS)(group, "v1", "things", "Thing", namespaced=False)

    await eventually(lambda: cluster.answers(things))
    await cluster.api.create(
        things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    )
    await cluster.api.delete(CUSTOM_RESOURCE_DEFINITIONS, f"things.{group}")

    async def unserved() -> bool:
        return not await cluster.answers(things)

    await eventually(unserved)
