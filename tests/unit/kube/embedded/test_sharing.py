"""Versions of an object share what a write has not touched; so no write may change what others hold."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import ApplyPatch, Change, MergePatch, Patch, StrategicMergePatch
from closeknit.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    JOBS,
    NAMESPACES,
    PODS,
    Resource,
)
from tests.conformance.cluster import DEFINITIONS, WIDGETS
from tests.unit.kube.embedded.objects import config_map, pod

SECRETS = Resource("", "v1", "secrets", "Secret")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _limited(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "a", "resources": {"limits": {"cpu": "1"}}}
    gates = [{"name": "example.com/one"}]
    return pod(name, spec={"containers": [container], "schedulingGates": gates}, labels={"a": "b"})


def _applied(color: str) -> ApplyPatch:
    metadata = {"name": "a", "namespace": "default"}
    body = {
        "apiVersion": WIDGETS.api_version,
        "kind": "Widget",
        "metadata": metadata,
        "spec": {"color": color},
    }
    return ApplyPatch(body, "kubectl", force=True)


_JOB_POD = {"containers": [{"name": "main", "image": "a"}], "restartPolicy": "Never"}
WRITES: Mapping[str, tuple[Resource, dict[str, Any], Sequence[tuple[str, Patch]]]] = {
    "a pod loses its gates, gets a label and a status": (
        PODS,
        _limited("a"),
        [
            ("", MergePatch({"spec": {"schedulingGates": None}})),
            ("", MergePatch({"metadata": {"labels": {"c": "d"}}})),
            ("status", MergePatch({"status": {"phase": "Running"}})),
            ("", StrategicMergePatch({"spec": {"containers": [{"name": "main", "image": "b"}]}})),
        ],
    ),
    "a Secret gets plain strings beside its data": (
        SECRETS,
        {**config_map("a", data={"k": "dg=="}), "kind": "Secret"},
        [("", MergePatch({"stringData": {"other": "v"}})), ("", MergePatch({"stringData": {"k": "w"}}))],
    ),
    "a namespace gets a label and loses its own": (
        NAMESPACES,
        {"metadata": {"name": "a", "labels": {"b": "c"}}},
        [
            ("", MergePatch({"metadata": {"annotations": {"d": "e"}}})),
            ("", MergePatch({"metadata": {"labels": {"b": "d", "kubernetes.io/metadata.name": None}}})),
        ],
    ),
    "a Job is let go": (
        JOBS,
        {
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"suspend": True, "template": {"spec": _JOB_POD}},
        },
        [("", MergePatch({"spec": {"suspend": False}})), ("status", MergePatch({"status": {"active": 1}}))],
    ),
    "kubectl applies what it has applied before": (
        WIDGETS,
        {
            "metadata": {"name": "a", "namespace": "default", "annotations": {LAST_APPLIED: "{}"}},
            "spec": {"size": "small"},
        },
        [("", _applied("red")), ("", _applied("blue")), ("status", MergePatch({"status": {"ready": 1}}))],
    ),
    "a ConfigMap loses what it holds": (
        CONFIG_MAPS,
        config_map("a", data={"k": "v"}, metadata={"annotations": {"x": "y"}}),
        [
            ("", MergePatch({"metadata": {"annotations": {"x": "z"}}})),
            ("", MergePatch({"data": {"k": None}})),
        ],
    ),
}


@pytest.mark.parametrize("case", WRITES.values(), ids=WRITES.keys())
async def test_versions_that_a_watcher_holds_stay_as_they_were(
    cluster: EmbeddedCluster, case: tuple[Resource, dict[str, Any], Sequence[tuple[str, Patch]]]
) -> None:
    resource, made, patches = case
    if resource is WIDGETS:
        await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITIONS[0])
    namespace = "" if resource is NAMESPACES else "default"
    watch = cluster.watch(resource, resource_version=(await cluster.list(resource)).resource_version)
    held: list[tuple[Any, Any]] = []
    async with aclosing(watch) as events:
        await cluster.create(resource, made)
        for subresource, patch in [("", None), *patches]:
            if patch is not None:
                await cluster.patch(resource, "a", patch, namespace=namespace, subresource=subresource)
            event = await anext(events)
            assert isinstance(event, Change)
            held.append((event.object, copy.deepcopy(event.object)))

    assert len(held) == len(patches) + 1
    for now, then in held:
        assert now == then


async def test_what_was_judged_once_and_stays_is_not_judged_again(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.create(PODS, _limited("a"))
    kind, _ = cluster.core.kinds.of(PODS)
    judged: list[Any] = []

    def problems(obj: Any) -> tuple[()]:
        judged.append(obj)
        return ()

    monkeypatch.setattr(kind.rules, "problems", problems)

    await cluster.patch(
        PODS, "a", MergePatch({"status": {"phase": "Running"}}), namespace="default", subresource="status"
    )
    assert judged == []

    await cluster.patch(PODS, "a", MergePatch({"spec": {"schedulingGates": None}}), namespace="default")
    assert len(judged) == 1
