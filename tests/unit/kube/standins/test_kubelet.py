"""What the stand-in for kubelets decides, without any cluster."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.clock import timestamp
from closeknit.kube.standins import kubelet
from tests.unit.kube.standins.moments import NOW, ago


def bound(
    phase: str = "Pending",
    *,
    started: float = 0,
    node: str = "n1",
    spec: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    status = {"phase": phase, **({"startTime": ago(started)} if phase == "Running" else {})}
    return {
        "metadata": {"name": "p", "uid": "u", **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}], **(spec or {})},
        "status": status,
    }


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(bound(node=""), None, id="a pod without a node is nobody's"),
        pytest.param(bound(), "Running", id="a bound pod starts"),
        pytest.param(bound("Running"), None, id="a pod that says nothing runs on"),
        pytest.param(
            bound("Running", started=4, annotations={kubelet.RUN_SECONDS: "10"}),
            6.0,
            id="it runs as long as it says",
        ),
        pytest.param(
            bound("Running", started=10, annotations={kubelet.RUN_SECONDS: "10"}),
            "Succeeded",
            id="and ends well",
        ),
        pytest.param(
            bound("Running", started=10, annotations={kubelet.RUN_SECONDS: "10", kubelet.EXIT_CODE: "3"}),
            "Failed",
            id="or with another code, badly",
        ),
        pytest.param(
            bound("Running", started=1, annotations={kubelet.RUN_SECONDS: "1", kubelet.EXIT_CODE: "inf"}),
            "Failed",
            id="a code beyond all codes is the largest",
        ),
        pytest.param(
            bound("Running", started=4, spec={"activeDeadlineSeconds": 10}),
            6.0,
            id="a pod with a deadline runs until then",
        ),
        pytest.param(
            bound("Running", started=10, spec={"activeDeadlineSeconds": 10}),
            "Failed",
            id="and is ended at it",
        ),
        pytest.param(
            bound("Running", annotations={kubelet.RUN_SECONDS: "soon"}),
            None,
            id="a time that is none is as if not given",
        ),
        pytest.param(
            bound("Running", annotations={kubelet.EVICT: "true"}), "Failed", id="the node puts it out"
        ),
        pytest.param(bound("Succeeded"), None, id="what has ended has ended"),
        pytest.param(bound("Running", deletionTimestamp=ago(0)), "remove", id="a pod that is deleted goes"),
        pytest.param(bound("Succeeded", deletionTimestamp=ago(0)), "remove", id="also where it had ended"),
    ],
)
def test_a_kubelet(pod: dict[str, Any], want: Any) -> None:
    match kubelet.decide(pod, NOW):
        case kubelet.Report(status=status):
            assert status["phase"] == want
        case kubelet.Remove():
            assert want == "remove"
        case kubelet.Wait(seconds=seconds):
            assert seconds == want
        case None:
            assert want is None
    assert want is None or not kubelet.runs_on(pod), "who runs on is not looked at"


def test_a_condition_that_stays_keeps_its_time() -> None:
    pod = bound()
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(60)}]
    step = kubelet.decide(pod, NOW)

    assert isinstance(step, kubelet.Report)
    times = {one["type"]: one["lastTransitionTime"] for one in step.status["conditions"]}
    assert (times["PodScheduled"], times["Ready"]) == (ago(60), timestamp(NOW))
