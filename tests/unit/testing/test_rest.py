"""When a cluster is at rest, and what it waits for while it is not."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from closeknit.kube.resources import JOBS, PODS
from closeknit.testing.rest import still_to_come

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Objects:
    """What a server lists, and what a mirror of it knows up to version 7."""

    def __init__(self, *objects: Any) -> None:
        self.resources = {(each.group, each.kind): each for each in (JOBS, PODS)}
        self._objects = [{"kind": "Pod", "spec": {}, **each} for each in objects]

    async def list(self, resource: Any) -> Any:
        return SimpleNamespace(items=[each for each in self._objects if each["kind"] == resource.kind])

    def mirror(self, _: str, kind: str) -> Any:
        return Known(each["metadata"]["name"] for each in self._objects if each["kind"] == kind)


class Known(set[str]):
    def get(self, name: str, _: str) -> str | None:
        return name if name in self else None

    def freshness(self) -> Any:
        return SimpleNamespace(resource_version="7")


def meta(version: int = 7, **more: Any) -> dict[str, Any]:
    return {"name": "p", "uid": "1", "resourceVersion": str(version), **more}


OWNED = [{"apiVersion": "batch/v1", "kind": "Job", "uid": "9"}]
FOREIGN = [{"apiVersion": "v1", "kind": "Other", "uid": "9"}]
ON_NODE = {"nodeName": "n"}


@pytest.mark.parametrize(
    ("pod", "kubelets", "expected"),
    [
        pytest.param({"metadata": meta()}, True, "", id="nothing is to come"),
        pytest.param(
            {"metadata": meta(8)},
            False,
            "Some Pod is not seen as the server has it.",
            id="a change that no watch has told yet",
        ),
        pytest.param(
            {"metadata": meta(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=0)},
            False,
            "Pod p is deleted, and still there.",
            id="a deletion that was cut off, which a garbage collector ends",
        ),
        pytest.param(
            {"metadata": meta(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["theirs"])},
            False,
            "",
            id="a deletion that waits for somebody's finalizer",
        ),
        pytest.param(
            {"metadata": meta(ownerReferences=OWNED)}, False, "The owner of Pod p is gone.", id="an orphan"
        ),
        pytest.param({"metadata": meta(ownerReferences=FOREIGN)}, False, "", id="an owner of a kind unknown"),
        pytest.param(
            {"metadata": meta(), "spec": ON_NODE},
            True,
            "The kubelet has not seen to pod p.",
            id="a pod that its kubelet starts",
        ),
        pytest.param({"metadata": meta(), "spec": ON_NODE}, False, "", id="a pod that nobody starts"),
        pytest.param(
            {"metadata": meta(), "spec": ON_NODE, "status": {"phase": "Running"}},
            True,
            "",
            id="a pod that runs",
        ),
    ],
)
async def test_what_is_still_to_come(pod: Any, kubelets: bool, expected: str) -> None:
    server = cast("Any", Objects(pod))

    assert await still_to_come(server, [server], kubelets_at=NOW if kubelets else None) == expected
