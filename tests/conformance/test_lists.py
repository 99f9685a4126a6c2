"""Lists: order, pages and selectors."""

from __future__ import annotations

import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.kube.errors import ApiError, BadRequestError, GoneError
from closeknit.kube.port import Identity, MergePatch, Object, Selection, pages
from closeknit.kube.resources import CONFIG_MAPS, NODES, PODS
from tests.conformance.cluster import WIDGETS, Cluster


async def labelled(cluster: Cluster) -> None:
    await cluster.create_config("a", labels={"app": "web", "tier": "front"})
    await cluster.create_config("b", labels={"app": "web", "tier": "back"})
    await cluster.create_config("c", labels={"app": "db"})
    await cluster.create_config("d")


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param("", "abcd", id="nothing selects all"),
        pytest.param("app=web", "ab", id="equal"),
        pytest.param("app==web", "ab", id="equal with two signs"),
        pytest.param("app!=web", "cd", id="not equal, also where the key is missing"),
        pytest.param("app in (web, db)", "abc", id="one of"),
        pytest.param("app notin (web)", "cd", id="none of, also where the key is missing"),
        pytest.param("app", "abc", id="exists"),
        pytest.param("!app", "d", id="does not exist"),
        pytest.param("app=web,tier=back", "b", id="both"),
        pytest.param("app=web,!tier", "", id="nothing fits"),
        pytest.param("app=", "", id="an empty value is a value"),
    ],
)
async def test_a_label_selector(cluster: Cluster, selector: str, want: str) -> None:
    await labelled(cluster)

    found = await cluster.names(CONFIG_MAPS, Selection(namespace=cluster.namespace, labels=selector))

    assert found == list(want)


@pytest.mark.parametrize("selector", ["app in", "app in (a", "a b", "=x", "app=a=b", "-bad-=x"])
async def test_a_label_selector_that_is_none(cluster: Cluster, selector: str) -> None:
    with pytest.raises(BadRequestError):
        await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace, labels=selector))


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param("metadata.name=a", ["a"], id="by name"),
        pytest.param("metadata.name!=a", ["b", "c"], id="not by name"),
        pytest.param("spec.nodeName=n1", ["b"], id="by node"),
        pytest.param("spec.nodeName=", ["a", "c"], id="without a node"),
        pytest.param("status.phase=Running", ["c"], id="by phase"),
        pytest.param("status.phase!=Running,spec.nodeName=", ["a"], id="both"),
        pytest.param("spec.schedulerName=other", ["c"], id="by scheduler"),
        pytest.param("spec.restartPolicy=Always", ["a", "b", "c"], id="by restart policy"),
    ],
)
async def test_a_field_selector_of_pods(cluster: Cluster, selector: str, want: list[str]) -> None:
    await cluster.create_pod("a")
    await cluster.create_pod("b", spec={"nodeName": "n1"})
    await cluster.create_pod("c", spec={"schedulerName": "other"})
    await cluster.api.patch(
        PODS,
        "c",
        MergePatch({"status": {"phase": "Running"}}),
        namespace=cluster.namespace,
        subresource="status",
    )

    assert await cluster.names(PODS, Selection(namespace=cluster.namespace, fields=selector)) == want


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param("spec.image=x", id="a field that cannot be selected"),
        pytest.param("nonsense", id="no operator"),
    ],
)
async def test_a_field_selector_that_is_none(cluster: Cluster, selector: str) -> None:
    with pytest.raises(BadRequestError):
        await cluster.api.list(PODS, Selection(namespace=cluster.namespace, fields=selector))


async def test_nodes_are_selected_by_whether_they_take_pods(cluster: Cluster) -> None:
    names = [cluster.unique("node") for _ in range(2)]
    for name, closed in zip(names, (True, False), strict=True):
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "spec": {"unschedulable": closed},
        }
        await cluster.api.create(NODES, body)

    found = await cluster.names(NODES, Selection(fields="spec.unschedulable=true"))

    assert names[0] in found
    assert names[1] not in found


async def test_custom_objects_are_selected_by_name_and_label(widgets: Cluster) -> None:
    await widgets.create_widget("a", labels={"x": "1"})
    await widgets.create_widget("b", labels={"x": "1"})
    both = Selection(namespace=widgets.namespace, labels="x=1", fields="metadata.name=b")

    assert await widgets.names(WIDGETS, both) == ["b"]
    with pytest.raises(BadRequestError):
        await widgets.api.list(WIDGETS, Selection(namespace=widgets.namespace, fields="spec.size=small"))


async def test_a_list_of_one_namespace_holds_no_other(cluster: Cluster) -> None:
    other = await cluster.new_namespace()
    await cluster.create_config("mine")
    await cluster.api.create(CONFIG_MAPS, cluster.config("theirs", namespace=other))

    assert await cluster.names(CONFIG_MAPS) == ["mine"]
    everywhere = await cluster.api.list(CONFIG_MAPS)
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in everywhere.items}
    assert {(cluster.namespace, "mine"), (other, "theirs")} <= found


async def test_a_list_across_namespaces_can_be_narrowed_to_one(cluster: Cluster) -> None:
    await cluster.create_pod("a")
    page = await cluster.api.list(PODS, Selection(fields=f"metadata.namespace={cluster.namespace}"))

    assert [each["metadata"]["name"] for each in page.items] == ["a"]


async def test_a_list_of_a_namespace_that_is_not_there_is_empty(cluster: Cluster) -> None:
    page = await cluster.api.list(CONFIG_MAPS, Selection(namespace="nowhere"))

    assert page.items == []
    assert int(page.resource_version) > 0


async def test_a_list_is_in_the_order_of_names(cluster: Cluster) -> None:
    for name in ("b", "a-1", "a", "c", "a.b", "10", "9"):
        await cluster.create_config(name)

    assert await cluster.names(CONFIG_MAPS) == ["10", "9", "a", "a-1", "a.b", "b", "c"]


async def test_items_say_what_they_are(cluster: Cluster) -> None:
    await cluster.create_config("a")
    page = await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace))

    assert [(each["apiVersion"], each["kind"]) for each in page.items] == [("v1", "ConfigMap")]


async def test_a_lists_version_is_not_before_its_items(cluster: Cluster) -> None:
    made = await cluster.create_config()
    page = await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace))

    assert int(page.resource_version) >= int(made["metadata"]["resourceVersion"])


# ------------------------------------------------------------------------------------------------- pages


async def test_pages_hold_everything_once(cluster: Cluster) -> None:
    for number in range(7):
        await cluster.create_config(f"c{number}")
    seen = [
        page
        async for page in pages(cluster.api, CONFIG_MAPS, Selection(namespace=cluster.namespace), limit=3)
    ]

    assert [[each["metadata"]["name"] for each in page.items] for page in seen] == [
        ["c0", "c1", "c2"],
        ["c3", "c4", "c5"],
        ["c6"],
    ]
    assert [page.remaining for page in seen] == [4, 1, None]
    assert len({page.resource_version for page in seen}) == 1
    assert seen[-1].token == ""


async def test_all_pages_show_one_moment(cluster: Cluster) -> None:
    for name in "ace":
        await cluster.create_config(name)
    here = Selection(namespace=cluster.namespace)
    one = await cluster.api.list(CONFIG_MAPS, here, limit=2)
    await cluster.create_config("b")
    await cluster.create_config("f")
    await cluster.api.delete(CONFIG_MAPS, "e", namespace=cluster.namespace)
    two = await cluster.api.list(CONFIG_MAPS, here, limit=2, token=one.token)

    assert [each["metadata"]["name"] for each in two.items] == ["e"]
    assert two.resource_version == one.resource_version


async def test_pages_obey_selectors(cluster: Cluster) -> None:
    for number in range(6):
        await cluster.create_config(f"c{number}", labels={"odd": str(number % 2)})
    here = Selection(namespace=cluster.namespace, labels="odd=1")
    seen = [page async for page in pages(cluster.api, CONFIG_MAPS, here, limit=2)]

    assert [[each["metadata"]["name"] for each in page.items] for page in seen] == [["c1", "c3"], ["c5"]]


async def test_a_limit_that_holds_all_gives_no_token(cluster: Cluster) -> None:
    await cluster.create_config()
    page = await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace), limit=1)

    assert (page.token, page.remaining) == ("", None)


async def test_a_token_that_is_none(cluster: Cluster) -> None:
    with pytest.raises((BadRequestError, GoneError)):
        await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace), limit=1, token="nonsense")


async def test_any_version_will_do(cluster: Cluster) -> None:
    await cluster.create_config("a")
    page = await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace), resource_version="0")

    assert [each["metadata"]["name"] for each in page.items] in (["a"], [])


async def test_a_version_that_is_not_too_new(cluster: Cluster) -> None:
    made = await cluster.create_config("a")
    page = await cluster.api.list(
        CONFIG_MAPS,
        Selection(namespace=cluster.namespace),
        resource_version=made["metadata"]["resourceVersion"],
    )

    assert [each["metadata"]["name"] for each in page.items] == ["a"]


@pytest.mark.parametrize("limit", [0, 2], ids=["at once", "in pages"])
async def test_the_identities_of_a_moment_that_is_past(cluster: Cluster, limit: int) -> None:
    here = Selection(namespace=cluster.namespace)
    await labelled(cluster)
    then = await cluster.api.list(CONFIG_MAPS, here)
    await cluster.api.delete(CONFIG_MAPS, "a", namespace=cluster.namespace)
    await cluster.api.patch(CONFIG_MAPS, "b", MergePatch({"data": {"k": "v"}}), namespace=cluster.namespace)
    await cluster.create_config("e")

    async def identities(version: str) -> list[Identity]:
        page = await cluster.api.identities(CONFIG_MAPS, here, resource_version=version, limit=limit)
        found = list(page.items)
        while page.token:
            assert page.resource_version == version
            page = await cluster.api.identities(
                CONFIG_MAPS, here, resource_version=version, limit=limit, token=page.token
            )
            found += page.items
        return found

    # Every namespace has a ConfigMap of its own on a real server.
    def expected(objects: list[Object]) -> list[Identity]:
        wanted = (each["metadata"] for each in objects)
        return [Identity(of["name"], of["namespace"], of["uid"], of["resourceVersion"]) for of in wanted]

    now = await cluster.api.list(CONFIG_MAPS, here)
    assert await identities(then.resource_version) == expected(then.items)
    assert await identities(now.resource_version) == expected(now.items)
    assert then.versions == [each["metadata"]["resourceVersion"] for each in then.items]


async def test_the_identities_of_a_moment_to_come(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    now = await cluster.api.list(CONFIG_MAPS, here)
    later = str(int(now.resource_version) + 1_000_000)

    with pytest.raises(ApiError):
        await cluster.api.identities(CONFIG_MAPS, here, resource_version=later)


async def test_items_of_a_type_have_their_versions_beside_them(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    await cluster.create_pod("p")
    await cluster.create_pod("q")
    plain = await cluster.api.list(PODS, here)
    typed = await cluster.api.list(PODS, here, into=Pod)

    assert [each.metadata.name for each in typed.items] == ["p", "q"]
    assert typed.versions == plain.versions == [each["metadata"]["resourceVersion"] for each in plain.items]
