"""The embedded cluster over HTTP: the shape that clients expect, and limits that hold."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.resources import CONFIG_MAPS, PODS
from tests.unit.kube.embedded.http.client import APPLY, MAPS, Client, config_map

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def test_an_object_is_made_read_changed_listed_and_deleted(client: Client) -> None:
    made = await client.ask("POST", MAPS, config_map("a", k="1"))
    read = await client.ask("GET", f"{MAPS}/a")
    changed = await client.ask(
        "PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, Content_Type="application/merge-patch+json"
    )
    listed = await client.ask("GET", MAPS)
    gone = await client.ask("DELETE", f"{MAPS}/a")
    missing = await client.ask("GET", f"{MAPS}/a")

    assert made[0] == 201
    assert read == (200, made[1])
    assert changed[1]["data"] == {"k": "2"}
    assert (listed[1]["kind"], listed[1]["apiVersion"]) == ("ConfigMapList", "v1")
    assert [item["metadata"]["name"] for item in listed[1]["items"]] == ["a"]
    assert (gone[0], gone[1]["status"]) == (200, "Success")
    assert (missing[0], missing[1]["kind"], missing[1]["reason"]) == (404, "Status", "NotFound")


async def test_the_writer_is_known_by_its_user_agent(client: Client) -> None:
    _, made = await client.ask("POST", MAPS, config_map("a"))

    assert [entry["manager"] for entry in made["metadata"].get("managedFields", [])] in ([], ["test"])
    _, changed = await client.ask(
        "PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, Content_Type="application/merge-patch+json"
    )
    assert [entry["manager"] for entry in changed["metadata"]["managedFields"]] == ["test"]


async def test_an_apply_makes_and_then_changes(client: Client) -> None:
    path = f"{MAPS}/a?fieldManager=me"
    made = await client.ask(
        "PATCH", path, b"apiVersion: v1\nkind: ConfigMap\ndata: {k: '1'}\n", Content_Type=APPLY
    )
    again = await client.ask(
        "PATCH", path, b"apiVersion: v1\nkind: ConfigMap\ndata: {k: '2'}\n", Content_Type=APPLY
    )

    assert (made[0], again[0], again[1]["data"]) == (201, 200, {"k": "2"})


async def test_pages(client: Client, cluster: EmbeddedCluster) -> None:
    for number in range(5):
        await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
    _, first = await client.ask("GET", f"{MAPS}?limit=2")
    _, second = await client.ask("GET", f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    _, third = await client.ask("GET", f"{MAPS}?limit=2&continue={second['metadata']['continue']}")

    assert first["metadata"]["remainingItemCount"] == 3
    assert [len(page["items"]) for page in (first, second, third)] == [2, 2, 1]
    assert "continue" not in third["metadata"]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1


async def test_a_table_has_the_columns_of_kubectl(client: Client, cluster: EmbeddedCluster) -> None:
    await cluster.create(
        PODS,
        {
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    _, table = await client.ask("GET", "/api/v1/namespaces/default/pods", Accept=TABLE)

    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"] if not column["priority"]] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert table["rows"][0]["cells"][:4] == ["p", "0/1", "Pending", "0"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_discovery_lists_kinds_and_their_subresources(client: Client) -> None:
    _, groups = await client.ask("GET", "/apis")
    _, core = await client.ask("GET", "/api/v1")
    _, whole = await client.ask(
        "GET", "/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    _, openapi = await client.ask("GET", "/openapi/v3/api/v1")

    assert {"batch", "coordination.k8s.io", "apiextensions.k8s.io"} <= {
        group["name"] for group in groups["groups"]
    }
    assert {"pods", "pods/binding", "pods/eviction", "pods/status", "nodes"} <= {
        one["name"] for one in core["resources"]
    }
    assert whole["kind"] == "APIGroupDiscoveryList"
    patch = openapi["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}


def test_a_kubeconfig_is_for_its_owner_alone(tmp_path: Path) -> None:
    server = Server(EmbeddedCluster())
    file = tmp_path / "config"
    file.write_text("old")
    file.chmod(0o644)
    server.write_kubeconfig(file)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = json.loads(file.read_text())
    assert written["clusters"][0]["cluster"]["server"] == server.address
    assert written["users"][0]["user"] == {"token": server.token}
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


async def test_binding_and_eviction_over_http(client: Client, cluster: EmbeddedCluster) -> None:
    pods = "/api/v1/namespaces/default/pods"
    await cluster.create(
        PODS,
        {
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    bound = await client.ask("POST", f"{pods}/p/binding", binding)
    again = await client.ask("POST", f"{pods}/p/binding", binding)
    evicted = await client.ask("POST", f"{pods}/p/eviction", {"deleteOptions": {"gracePeriodSeconds": 0}})

    assert (bound[0], bound[1]["status"]) == (201, "Success")
    assert (again[0], again[1]["reason"]) == (409, "Conflict")
    assert evicted[0] == 201
    assert (await client.ask("GET", f"{pods}/p"))[0] == 404
