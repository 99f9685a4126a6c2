"""What a pod tells of its task."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.controllers.osmo.workflows import task_pod
from closeknit.dialects.osmo.progress import TaskPod
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.workload import ObjectName


def ended(code: int) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}


def disrupted(reason: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": "DisruptionTarget", "status": status, "reason": reason}]}


@pytest.mark.parametrize(
    ("status", "phase", "code"),
    [
        pytest.param({}, "Pending", None, id="nothing was said of it yet"),
        pytest.param({"phase": "Succeeded", **ended(0)}, "Succeeded", 0, id="it succeeded"),
        pytest.param({"phase": "Failed", **ended(7)}, "Failed", 7, id="its container ended with a code"),
        pytest.param({"phase": "Failed"}, "Failed", None, id="it failed, and no container tells how"),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted", **ended(137)}, "Failed", 3004, id="it was evicted"
        ),
        pytest.param({"phase": "Failed", "reason": "NodeLost"}, "Failed", 3001, id="its node was lost"),
        pytest.param(
            {"phase": "Failed", **ended(137), **disrupted("PreemptionByScheduler")},
            "Failed",
            3006,
            id="it made room for another",
        ),
        pytest.param(
            {"phase": "Failed", **ended(2), **disrupted("PreemptionByScheduler", "False")},
            "Failed",
            2,
            id="it was to make room and did not have to",
        ),
    ],
)
def test_what_became_of_a_pod(status: dict[str, Any], phase: str, code: int | None) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"nodeName": "node", "containers": [{"name": "c"}]},
        "status": status,
    }
    stored = Stored(Key("", "Pod", "n", "p"), ObjectName("v1", "Pod", "n", "p"), msgspec.convert(body, Pod))

    assert task_pod(stored) == TaskPod("p", phase, "node", code)
