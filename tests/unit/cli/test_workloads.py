"""``closeknit get workloads`` tells how far the workloads of all families have come."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.hub.sentences import cli
from closeknit.kube.errors import ForbiddenError
from closeknit.kube.rest import RestApi
from tests.kit.problems import line, text
from tests.serving import Serving, serving
from tests.unit.cli.running import TOPOLOGY, Run, numbers, on, pod_group


def pod(name: str, group: str, node: str = "") -> dict[str, Any]:
    asked = {"nvidia.com/gpu": "8"}
    container = {"name": "main", "image": "x", "resources": {"limits": asked, "requests": asked}}
    spec: dict[str, Any] = {"schedulerName": "kai-scheduler", "containers": [container]}
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "namespace": "default", "annotations": {"pod-group-name": group}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def node(name: str, rack: str) -> dict[str, Any]:
    labels = {"block": "b1", "rack": rack, "kubernetes.io/hostname": name}
    status = {"allocatable": {"nvidia.com/gpu": "8", "pods": "10"}}
    status |= {"conditions": [{"type": "Ready", "status": "True"}]}  # type: ignore[dict-item]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }


@pytest.fixture(autouse=True)
def some(served: Serving) -> None:
    groups = list(yaml.safe_load_all(TOPOLOGY + pod_group("runs", 2, "rack") + pod_group("waits", 2, "rack")))
    nodes = [node("n1", "r1"), node("n2", "r1"), node("n3", "r2")]
    pods = [
        pod("runs-0", "runs", "n1"),
        pod("runs-1", "runs", "n2"),
        pod("waits-0", "waits"),
        pod("waits-1", "waits"),
    ]
    served.load([each for each in (*groups, *nodes, *pods) if each])


HEADER = "KIND       NAME    QUEUE   PRIORITY   STATE     PODS   WHERE\n"


def test_each_workload_has_its_pods_and_the_domain_that_they_share(served: Serving) -> None:
    found = on(served, "get", "workloads")

    assert (found.status, found.err) == (0, "")
    header, running, pending = found.out.splitlines(keepends=True)
    assert (header, running) == (
        HEADER,
        "PodGroup   runs            0          running   2/2    b1/r1\n",
    )
    # It is the first of one in the queue.
    assert pending.startswith("PodGroup   waits           0          pending   0/2    ")
    assert numbers(pending.partition("0/2")[2]) == [1, 1]


def test_one_is_asked_for_by_name_and_a_misspelt_one_is_told(served: Serving) -> None:
    assert on(served, "get", "workloads", "waits", "-A").out.splitlines()[1].split()[:3] == [
        "default", "PodGroup", "waits",
    ]  # fmt: skip
    missing = on(served, "get", "workloads", "wait")
    assert missing.status == 2
    remedy = ' Did you mean "waits"?'
    facts = {"kind": "workload", "name": "wait", "place": "namespace default"}
    assert missing.err == line(cli.NO_SUCH_OBJECT, "NAME", **facts, remedy=remedy) + "\n"


def test_a_watch_tells_what_changes(served: Serving) -> None:
    program = "from closeknit.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        program,
        "get",
        "workloads",
        "-w",
        "--kubeconfig",
        str(served.kubeconfig),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(3)]
        served.ask(lambda one: one.bind("waits-0", "n3", namespace="default"))
        later = process.stdout.readline()
        process.send_signal(signal.SIGINT)

        assert process.wait() == 130
    assert first[0] == HEADER
    assert later.split()[:5] == ["PodGroup", "waits", "0", "pending", "1/2"]


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        pytest.param([], ["runs", "waits"], id="a single pod that names another scheduler is not ours"),
        pytest.param(
            ["--scheduler-name", "nightly"], ["alone"], id="unless that is the one that Closeknit is"
        ),
        pytest.param(
            ["--scheduler-name", "nightly", "--scheduler-name", "kai-scheduler"],
            ["alone", "waits"],
            id="or one of those",
        ),
    ],
)
def test_single_pods_are_workloads_where_they_name_our_scheduler(
    served: Serving, options: list[str], listed: list[str]
) -> None:
    alone = pod("alone", "")
    alone["metadata"]["annotations"] = {}
    alone["spec"]["schedulerName"] = "nightly"
    served.load([alone])

    found = on(served, "get", "workloads", *options)

    assert found.status == 0
    names = [line.split()[1] for line in found.out.splitlines()[1:]]
    assert [name for name in names if name in listed] == listed
    assert ("alone" in names) is ("alone" in listed)


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        pytest.param(
            ["workloads", "--scheduler-name", "No Name"],
            [line(cli.NO_SCHEDULER_NAME, "--scheduler-name", name="No Name")],
            id="a scheduler that no pod can name",
        ),
        pytest.param(
            ["pods", "--scheduler-name", "nightly"],
            [line(cli.ONLY_FOR_ALL_FAMILIES, "--scheduler-name")],
            id="a scheduler where none is asked for",
        ),
        pytest.param(
            ["workloads", "-l", "app=web", "-L", "app"],
            [line(cli.NOT_FOR_ALL_FAMILIES, option) for option in ("-l", "-L")],
            id="labels of workloads",
        ),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    served: Serving, arguments: list[str], messages: list[str]
) -> None:
    found = on(served, "get", *arguments)

    assert (found.status, found.out, found.err.splitlines()) == (2, "", messages)


EXAMPLES = Path(__file__).parents[3] / "examples" / "kueue"


def test_jobs_that_queue_in_kueue_are_workloads_too(tmp_path: Path) -> None:
    with serving(tmp_path / "kueue", ["kai", "kueue"]) as served:
        served.load(
            manifest
            for name in ("nodes.yaml", "queues.yaml", "auto.yaml")
            for manifest in yaml.safe_load_all((EXAMPLES / name).read_text())
        )
        found = on(served, "get", "workloads", "-A")

    assert found.status == 0
    assert [line.split()[1:3] for line in found.out.splitlines()[1:]] == [["Job", "auto"]]


def test_a_kind_that_may_not_be_listed_is_a_note(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = RestApi.list

    async def refusing(self: RestApi, resource: Any, *rest: Any, **more: Any) -> Any:
        if resource.kind == "Node":
            raise ForbiddenError('nodes is forbidden: User "v" cannot list resource "nodes".')
        return await listed(self, resource, *rest, **more)

    monkeypatch.setattr(RestApi, "list", refusing)
    found = on(served, "get", "workloads")

    assert found.status == 0
    assert found.err.startswith("note: Node ")
    assert "waits" in found.out


@pytest.mark.parametrize("watch", [[], ["-w"]], ids=["once", "with -w"])
def test_a_cluster_that_cannot_be_reached_is_told(tmp_path: Path, watch: list[str]) -> None:
    with serving(tmp_path / "gone", []):
        pass
    found = Run("get", "workloads", *watch, "--kubeconfig", str(tmp_path / "gone"))

    assert (found.status, found.out) == (1, "")
    address = json.loads((tmp_path / "gone").read_text())["clusters"][0]["cluster"]["server"]
    reason = f"{address} cannot be reached: Connection refused"
    facts = {"cluster": "The cluster (context closeknit)", "reason": reason}
    assert found.err == text(cli.CLUSTER_NOT_REACHED, **facts) + "\n"
