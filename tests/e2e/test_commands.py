"""The command line on a real API server, next to kubectl."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.hub.sentences import cli
from closeknit.testing.control_plane import ControlPlane
from tests.kit.problems import line, text
from tests.unit.cli.running import DRAWING, TOPOLOGY, Run, outcomes, pod_group

pytestmark = pytest.mark.e2e

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {pod-group-name: GROUP}}
spec: {containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: "8"}}}]}
"""


@pytest.fixture(scope="module")
def loaded(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> ControlPlane:
    """A control plane with our definitions and the drawn cluster, all applied by the command line."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "cluster.txt").write_text(DRAWING)
    nodes = Run("nodes", "--drawing", str(folder / "cluster.txt"), "--prefix", "")
    objects: list[dict[str, Any]] = list(yaml.safe_load_all(TOPOLOGY + nodes.out))
    for each in objects:
        each["metadata"].pop("ownerReferences", None)
    (folder / "objects.yaml").write_text(Run("crds").out + "---\n" + yaml.safe_dump_all(objects))
    applied = on(plane, "apply", "-f", str(folder / "objects.yaml"))
    assert (applied.status, applied.err) == (0, "")
    assert "topology.kai.scheduler/t created\nnode/x1 created\n" in applied.out
    return plane


def on(plane: ControlPlane, *arguments: str, stdin: str = "") -> Run:
    return Run(*arguments, "--kubeconfig", str(plane.kubeconfig), stdin=stdin)


def kubectl(plane: ControlPlane, *arguments: str) -> str:
    command = [str(plane.programs.kubectl), "--kubeconfig", str(plane.kubeconfig), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ageless(text: str) -> list[list[str]]:
    """The words of each line, without ages."""
    return [re.sub(r"\b(\d+m)?\d+s\b", "AGE", line).split() for line in text.splitlines()]


def group_with_pods(name: str, pods: int, required: str) -> str:
    members = (POD.replace("NAME", f"{name}-{i}").replace("GROUP", name) for i in range(pods))
    return "---".join([pod_group(name, pods, required), *members])


def test_a_plan_of_the_cluster_is_the_plan_of_what_kubectl_prints(
    loaded: ControlPlane, tmp_path: Path
) -> None:
    text = group_with_pods("fits", 2, "rack") + group_with_pods("large", 3, "rack")
    assert on(loaded, "apply", "-f", "-", stdin=text).status == 0
    kinds = "nodes,pods,podgroups.scheduling.run.ai,topologies.kai.scheduler,priorityclasses"
    file = tmp_path / "dump.json"
    file.write_text(kubectl(loaded, "get", kinds, "-A", "-o", "json"))

    live = on(loaded, "plan", "-o", "json")
    dumped = Run("plan", "-f", str(file), "-o", "json", "--lenient")

    assert live.out == dumped.out
    assert live.status == dumped.status == 3
    assert {each["workload"]["name"]: each["status"] for each in outcomes(live)} == {
        "fits": "placed",
        "large": "unplaceable",
    }


def test_a_file_is_planned_where_the_cluster_has_room(loaded: ControlPlane) -> None:
    run = on(loaded, "plan", "-f", "-", "-o", "json", stdin=pod_group("new", 1, "block"))

    (outcome,) = outcomes(run)
    assert (outcome["status"], run.status) == ("placed", 0)
    # Half of x2 is taken.
    assert outcome["pods"][0]["node"] != "x2"


@pytest.mark.parametrize(
    "arguments",
    [
        ("pods",),
        ("pods", "-A", "-o", "wide"),
        ("nodes", "-L", "rack,block"),
        ("podgroups.scheduling.run.ai,pods",),
        ("crd",),
        ("pods", "-o", "name"),
        ("ns", "default"),
    ],
    ids=" ".join,
)
def test_get_shows_what_kubectl_shows(loaded: ControlPlane, arguments: tuple[str, ...]) -> None:
    run = on(loaded, "get", *arguments)

    assert (run.status, run.err) == (0, "")
    assert ageless(run.out) == ageless(kubectl(loaded, "get", *arguments))


def test_an_object_from_its_creation_to_its_end(loaded: ControlPlane) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
    changed = text.replace("a: b", "a: c")

    told = [
        on(loaded, "apply", "-f", "-", "--dry-run", stdin=text).out,
        on(loaded, "apply", "-f", "-", stdin=text).out,
        on(loaded, "apply", "-f", "-", stdin=text).out,
        on(loaded, "apply", "-f", "-", "--dry-run", stdin=text).out,
        on(loaded, "apply", "-f", "-", "--dry-run", stdin=changed).out,
        on(loaded, "apply", "-f", "-", stdin=changed).out,
        on(loaded, "delete", "cm", "c", "--wait").out,
        on(loaded, "get", "cm", "c").err,
    ]

    assert told == [
        "configmap/c created (dry run)\n",
        "configmap/c created\n",
        "configmap/c unchanged\n",
        "configmap/c unchanged (dry run)\n",
        "configmap/c configured (dry run)\n",
        "configmap/c configured\n",
        'configmap "c" deleted\n',
        line(
            cli.NO_SUCH_OBJECT,
            "NAME",
            kind="ConfigMap",
            name="c",
            place="namespace default",
            remedy=" closeknit get configmaps -A lists those that are there.",
        )
        + "\n",
    ]


def test_conflicts_name_the_fields_and_the_remedy(loaded: ControlPlane) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\ndata: {a: b}\n"
    on(loaded, "apply", "-f", "-", stdin=text)
    kubectl(loaded, "patch", "cm", "d", "--type=merge", "-p", '{"data": {"a": "x"}}')

    refused = on(loaded, "apply", "-f", "-", stdin=text)
    forced = on(loaded, "apply", "-f", "-", "--force-conflicts", stdin=text)

    assert refused.status == 2
    assert refused.err.startswith("<stdin>:1:ConfigMap d: ")
    assert 'Apply failed with 1 conflict: conflict with "kubectl-patch"' in refused.err
    assert "--force-conflicts" in refused.err
    assert (forced.status, forced.out) == (0, "configmap/d configured\n")


def test_every_field_that_is_refused_is_told(loaded: ControlPlane) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: P}\nspec: {containers: [{name: C, image: i}]}\n"

    run = on(loaded, "apply", "-f", "-", stdin=pod)

    assert run.status == 2
    assert [line.split(": ")[1] for line in run.err.splitlines()] == [
        "metadata.name",
        "spec.containers[0].name",
    ]


def test_describe_ends_with_the_events(loaded: ControlPlane) -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {restartPolicy: Never,"
        " containers: [{name: c, image: i}]}}}\n"
    )
    on(loaded, "apply", "-f", "-", stdin=job)
    run = on(loaded, "describe", "job", "j")
    for _ in range(100):
        if "SuccessfulCreate" in run.out:
            break
        run = on(loaded, "describe", "job", "j")

    assert run.out.startswith("Name:        j\nNamespace:   default\nKind:        Job (batch/v1)\n")
    assert re.search(
        r"\nEvents:\n  LAST SEEN .*\n  \d+s +Normal +SuccessfulCreate +job-controller +Created pod", run.out
    )
    on(loaded, "delete", "job", "j", "--cascade", "foreground", "--wait")


def test_who_may_read_nothing_is_told_which_verbs_are_missing(loaded: ControlPlane) -> None:
    guest = str(loaded.kubeconfig_of(loaded.guest))

    planned = Run("plan", "--kubeconfig", guest)
    got = Run("get", "pods", "--kubeconfig", guest)

    assert planned.status == 0
    (note,) = [remark for remark in planned.err.splitlines() if remark.startswith("note: Node ")]
    # The reason is the API server's.
    assert 'nodes is forbidden: User "guest" cannot list resource "nodes" in API group ""' in note
    assert '"list" on nodes' in note
    assert '"list" on podgroups.scheduling.run.ai' in planned.err
    assert got.status == 2
    context = yaml.safe_load(Path(guest).read_text())["current-context"]
    reason = 'pods is forbidden: User "guest" cannot list resource "pods" in API group "" in the namespace "default"'
    facts = {"cluster": f"The cluster (context {context})", "reason": reason}
    assert got.err == text(cli.NOT_PERMITTED, **facts) + "\n"
