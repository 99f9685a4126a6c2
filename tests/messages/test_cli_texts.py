"""What commands print for people besides the catalogue of problems: every text once, as a person sees it.

Tests of the commands assert exit status, JSON output, names and numbers. Here is the wording, so that a change
of it is seen on one page.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from closeknit.cli import topology_check, up
from closeknit.cli.unserved import unserved
from closeknit.dialects import KINDS, Served, Source
from closeknit.hub import drawing
from closeknit.kube.errors import ForbiddenError, NotFoundError
from closeknit.kube.resources import NODES, PODS, Resource
from tests.unit.cli.on_clusters import NODES_AND_PODS, Refusing, group, pods_of, serving_drawn, snapshot
from tests.unit.cli.running import TOPOLOGY, Run, on, pod_group, write_cluster

PREFERRED = {"topology": "t", "preferredTopologyLevel": "rack"}
SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata: {name: NAME}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n"


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A directory with the drawn cluster as manifests."""
    return write_cluster(tmp_path)


OUTPUTS = [
    pytest.param(
        ("plan",),
        pod_group("a", 2, "rack"),
        """
        PodGroup default/a: placed, 2 pods on 2 nodes
        PodGroup default/a: group default/a: in one rack: b1/r2 (required)
        PodGroup default/a: pod a-0 (default) on x3
        PodGroup default/a: pod a-1 (default) on x4
        1 workload: 1 placed.
        """,
        id="a plan",
    ),
    pytest.param(
        ("plan",),
        pod_group("a", 3, "rack"),
        """
        PodGroup default/a: cannot be placed
        PodGroup default/a: why: default/a needs room for 3 pods in one rack; the best has room for 2.
        PodGroup default/a: domain: b1/r2: room for 2 pods; nvidia.com/gpu runs out.
        PodGroup default/a: domain: b1/r1: room for 1 pod; nvidia.com/gpu runs out, held by Job default/other (4 with 4 pods).
        PodGroup default/a: domain: b2/r1: room for 1 pod; nvidia.com/gpu runs out.
        PodGroup default/a: nodes: 1 node has too little nvidia.com/gpu free for one pod.
        PodGroup default/a: help: Require block instead of rack for default/a, and it can be placed.
        PodGroup default/a: help: Ask for 2 pods of default/a instead of 3, and it can be placed.
        1 workload: 1 cannot be placed.
        """,
        id="a plan of a workload without room",
    ),
    pytest.param(
        ("plan",), "", "There is no workload in the files, so there is nothing to place.", id="an empty plan"
    ),
    pytest.param(
        ("explain", "a"),
        pod_group("a", 2, "rack") + pod_group("0", 1),
        """
        PodGroup default/a: placed, 2 pods on 2 nodes
          Before it in the queue, 1 of 1 placed: PodGroup default/0.
          Where its groups are
            all pods in one rack: b1/r2 (required)
            x3: 1 pod (a-0)
            x4: 1 pod (a-1)
          What they could choose from
            default/a: of 3 rack only b1/r2 has room for it, where 2 pods would fit.
          How good that is
            No pod is left out.
            It uses 1 of block, 1 of rack, 2 nodes.
            No placement does better on these points.
        """,
        id="why a workload is where it is",
    ),
    pytest.param(
        ("explain", "a"),
        pod_group("a", 3, "rack"),
        """
        PodGroup default/a: cannot be placed
          default/a needs room for 3 pods in one rack; the best has room for 2.
            Where most would fit
              b1/r2: room for 2 pods; nvidia.com/gpu runs out.
              b1/r1: room for 1 pod; nvidia.com/gpu runs out, held by Job default/other (4 with 4 pods).
              b2/r1: room for 1 pod; nvidia.com/gpu runs out.
            Nodes that take none
              1 node has too little nvidia.com/gpu free for one pod.
            What would help
              Require block instead of rack for default/a, and it can be placed.
              Ask for 2 pods of default/a instead of 3, and it can be placed.
        """,
        id="why a workload is not placed",
    ),
    pytest.param(
        ("explain", "a"),
        pod_group("a", 3, topologyConstraint={**PREFERRED, "requiredTopologyLevel": "block"}),
        """
        PodGroup default/a: placed, 3 pods on 3 nodes
          Where its groups are
            all pods over 2 domains of rack, where one is preferred: b1/r1, b1/r2
            x1: 1 pod (a-0)
            x3: 1 pod (a-1)
            x4: 1 pod (a-2)
          What they could choose from
            default/a: of 2 block only b1 has room for it, where 3 pods would fit.
          Why default/a does not get one rack
            default/a needs room for 3 pods in one rack; the best has room for 2.
              Where most would fit
                b1/r2: room for 2 pods; nvidia.com/gpu runs out.
                b1/r1: room for 1 pod; nvidia.com/gpu runs out, held by Job default/other (4 with 4 pods).
                b2/r1: room for 1 pod; nvidia.com/gpu runs out.
              Nodes that take none
                1 node has too little nvidia.com/gpu free for one pod.
          How good that is
            No pod is left out.
            The preferences for rack are missed by a distance of 1 in all.
            It uses 1 of block, 2 of rack, 3 nodes.
            No placement does better on these points.
        """,
        id="why a preference is not met",
    ),
    pytest.param(
        ("explain", "a"),
        pod_group("a", 2, topologyConstraint=PREFERRED),
        """
        PodGroup default/a: placed, 2 pods on 2 nodes
          Where its groups are
            all pods in one rack: b1/r2 (preferred)
            x3: 1 pod (a-0)
            x4: 1 pod (a-1)
          What they could choose from
            default/a: of 3 rack only b1/r2 has room for it, where 2 pods would fit.
          How good that is
            No pod is left out.
            Every preference for rack is met.
            It uses 1 of block, 1 of rack, 2 nodes.
            No placement does better on these points.
        """,
        id="a preference that is met",
    ),
    pytest.param(
        ("topology",),
        "",
        """
        t: block > rack > kubernetes.io/hostname
          cluster: 5 nodes, 4 of 40 nvidia.com/gpu used
            b1: 4 nodes, 4 of 32 nvidia.com/gpu used
              r1: 2 nodes, 4 of 16 nvidia.com/gpu used
                x1: 0 of 8 nvidia.com/gpu used
                x2: 4 of 8 nvidia.com/gpu used (by Job default/other)
              r2: 2 nodes, 0 of 16 nvidia.com/gpu used
                x3, x4: 2 alike, each 0 of 8 nvidia.com/gpu used
            b2: 1 node, 0 of 8 nvidia.com/gpu used
              r1: 1 node, 0 of 8 nvidia.com/gpu used
                x5: 0 of 8 nvidia.com/gpu used
        """,
        id="a tree of domains",
    ),
    pytest.param(
        ("topology", "--check"),
        "",
        """
        t: 1 remark
          rack r1 lies under 2 parents, which makes as many domains: b1, b2.
        """,
        id="a check of a topology",
    ),
    pytest.param(
        ("top",),
        "",
        """
        t: cluster, by free nvidia.com/gpu
          all nodes  ██░░░░░░░░░░░░░░░░░░  10% used, 36 of 40 free; largest gang: 36 pods of one, 4 of a whole node
        t: block, by free nvidia.com/gpu
          b1  ██░░░░░░░░░░░░░░░░░░  12% used, 28 of 32 free; largest gang: 28 pods of one, 3 of a whole node
          b2  ░░░░░░░░░░░░░░░░░░░░   0% used, 8 of 8 free; largest gang: 8 pods of one, 1 of a whole node
        t: rack, by free nvidia.com/gpu
          b1/r2  ░░░░░░░░░░░░░░░░░░░░   0% used, 16 of 16 free; largest gang: 16 pods of one, 2 of a whole node
          b1/r1  █████░░░░░░░░░░░░░░░  25% used, 12 of 16 free; largest gang: 12 pods of one, 1 of a whole node
          b2/r1  ░░░░░░░░░░░░░░░░░░░░   0% used, 8 of 8 free; largest gang: 8 pods of one, 1 of a whole node
        """,
        id="what is free",
    ),
    pytest.param(
        ("validate",),
        pod_group("a", 99, "rack"),
        "Valid: 1 workload, 5 nodes, 4 running pods, 1 topology (t).",
        id="what is valid",
    ),
]


@pytest.mark.parametrize(("command", "stdin", "text"), OUTPUTS)
def test_a_command_prints(cluster: str, command: Sequence[str], stdin: str, text: str) -> None:
    run = Run(*command, "-f", cluster, "-f", "-", stdin=stdin)

    assert run.out == dedent(text).strip() + "\n"


FILES = [
    pytest.param(("pool",), "", "The files hold no pool.", "", id="no pools"),
    pytest.param(
        ("top",), "", "The files hold no Node, so that there is no room to show.", "", id="no nodes to show"
    ),
    pytest.param(
        ("status",),
        "",
        "The files hold no object that an operator would write a status for.",
        "",
        id="no status",
    ),
    pytest.param(
        ("topology",),
        NODE,
        "no topology\n  cluster: 1 node, 0 of 8 nvidia.com/gpu used\n    n1: 0 of 8 nvidia.com/gpu used",
        "",
        id="nodes without a topology",
    ),
    pytest.param(
        ("topology", "--check"),
        NODE,
        "The files hold no topology, so there is nothing to check.",
        "",
        id="nothing to check",
    ),
    pytest.param(
        ("plan",),
        SERVICE.replace("NAME", "a"),
        "There is no workload in the files, so there is nothing to place.",
        "note: 1 document of kind Service (v1) was passed over: no dialect reads that kind.",
        id="a document of a kind that is not read",
    ),
    pytest.param(
        ("plan",),
        SERVICE.replace("NAME", "a") + SERVICE.replace("NAME", "b"),
        "There is no workload in the files, so there is nothing to place.",
        "note: 2 documents of kind Service (v1) were passed over: no dialect reads that kind.",
        id="documents of a kind that is not read",
    ),
    pytest.param(
        ("plan",),
        pod_group("a", 1),
        "PodGroup default/a: cannot be placed\n"
        "PodGroup default/a: why: default/a needs room for 1 pod; the cluster has none.\n"
        "PodGroup default/a: domain: the whole cluster: no room.\n"
        "1 workload: 1 cannot be placed.",
        "note: The files hold no Node.",
        id="no nodes to plan on",
    ),
    pytest.param(
        ("translate", "--to", "kueue"),
        NODE,
        "",
        "note: The files hold no workload, so there is nothing to write for kueue.",
        id="nothing to translate",
    ),
    pytest.param(
        ("translate", "--to", "pods"),
        pod_group("train", 1)
        + "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {pod-group-name: train}},"
        " spec: {containers: [{name: main}]}}",
        "",
        "note: PodGroup default/train: nothing is left to write for pods."
        " Other targets: kai, grove, podgang, kueue, kubernetes.",
        id="a workload that is there already",
    ),
]


@pytest.mark.parametrize(("command", "stdin", "out", "err"), FILES)
def test_a_command_remarks(command: Sequence[str], stdin: str, out: str, err: str) -> None:
    run = Run(*command, "-f", "-", stdin=stdin)

    assert (run.out.strip("\n"), run.err.strip("\n")) == (out, err)


def test_a_preference_that_another_precedes(tmp_path: Path) -> None:
    drawn = tmp_path / "cluster.txt"
    drawn.write_text("b1\n  r1\n    x1: 3\n  r2\n    x2: 3\nb2\n  r3\n    x3: 4\n")
    nodes = Run("nodes", "--drawing", str(drawn), "--prefix", "").out
    child = {"name": "c", "minMember": 4, "topologyConstraint": PREFERRED}
    constraint = {"topology": "t", "preferredTopologyLevel": "block"}
    groups = pod_group(
        "a", None, gpus=1, topologyConstraint=constraint, subGroups=[child, {"name": "d", "minMember": 2}]
    )

    run = Run("explain", "-f", "-", "a", stdin=TOPOLOGY + nodes + groups)

    assert (
        "  Why c does not get one rack\n    It could, but a wish that goes before this one would suffer.\n"
        in run.out
    )


def test_a_workload_that_is_translated_under_another_name() -> None:
    cliques = {"cliques": [{"name": "a", "spec": {"replicas": 2}}]}
    spec = {"replicas": 1, "template": cliques}
    metadata = {"name": "train"}
    pod_clique_set = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": metadata,
        "spec": spec,
    }

    run = Run(
        "translate",
        "-f",
        "-",
        "--to",
        "grove",
        stdin=f"{json.dumps(pod_clique_set)}\n{pod_group('train', 1)}",
    )

    assert run.err == (
        'note: PodGroup default/train: it is written as "train-podgroup",'
        " to tell it from PodCliqueSet default/train.\n"
    )


@pytest.mark.parametrize(
    ("drawn", "remarks"),
    [
        pytest.param(
            "b1\n  r1\n    x1: 8\n  x2: 8\n  x3: 8\nb2\n  r2\n    x4: 8\n  r3\n    x5: 8\n",
            ["2 nodes without the label rack, so in no domain of that level or a finer one: x2, x3."],
            id="nodes without a label",
        ),
        pytest.param(
            "b1\n  r1\n    x1: 8\nb2\n  r2\n    x2: 8\nx3: 8\n",
            ["1 node without the label block, so in no domain of that level or a finer one: x3."],
            id="a node without any label",
        ),
        pytest.param(
            "b1\n  r1\n    x1: 8\n  r2\n    x2: 8\n",
            ["block has one domain, b1: a workload that asks for it asks for nothing."],
            id="a level with one domain",
        ),
    ],
)
def test_a_topology_is_odd(drawn: str, remarks: list[str]) -> None:
    cluster = drawing.parse(drawn)

    assert [remark.message for remark in topology_check.findings(cluster, cluster.topologies[0])] == remarks


def test_a_level_that_no_node_has() -> None:
    cluster = drawing.parse("x1: 8\n", levels=["rack"])
    *_, remark = topology_check.findings(cluster, cluster.topologies[0])

    assert remark.message == "rack has no domain: to require it can never be satisfied."


def test_nodes_that_are_not_ready_or_without_devices(tmp_path: Path) -> None:
    drawn = tmp_path / "cluster.txt"
    drawn.write_text(
        "r\n  x1: cpu=4 memory=8Gi not-ready\n  x2: cpu=2 memory=8Gi unschedulable taint:a=b:NoSchedule\n"
    )
    nodes = Run("nodes", "--drawing", str(drawn))

    assert Run("topology", "-f", "-", stdin=nodes.out).out.splitlines()[-2:] == [
        "    x1: 0 of 4 cpu used, 0 of 8Gi memory used, not ready",
        "    x2: 0 of 2 cpu used, 0 of 8Gi memory used, cordoned, taint a=b:NoSchedule",
    ]


UNREAD = [
    pytest.param(
        Refusing(pods=ForbiddenError('pods is forbidden: User "v" cannot list resource "pods".')),
        'Pod is passed over: pods is forbidden: User "v" cannot list resource "pods".'
        ' Grant the verb "list" on pods to read them.',
        id="a kind that may not be listed",
    ),
    pytest.param(
        Refusing(pods=lambda namespace, *_: [] if namespace == "team" else ForbiddenError("no.")),
        'Pod is read in namespace team only: no. Grant the verb "list" on pods to read them.',
        id="a kind that may be listed in one namespace",
    ),
    pytest.param(
        Refusing(pods=NotFoundError("gone")),
        "Pod is passed over: the cluster (context c) no longer serves pods.",
        id="a kind that goes away",
    ),
]


@pytest.mark.parametrize(("api", "note"), UNREAD)
def test_objects_that_are_not_read(api: Refusing, note: str) -> None:
    assert snapshot(api, NODES_AND_PODS).unread == (note,)


def test_a_kind_in_other_versions() -> None:
    assert snapshot(Refusing()).unread == (
        "Topology (kai.scheduler) is passed over: the cluster (context c) serves it in v9, and it is read in"
        " v1, v1alpha1.",
    )


def test_a_kind_that_is_not_served() -> None:
    file = Source("a.json", b'{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}')
    served = (
        NODES,
        PODS,
        Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", namespaced=True),
    )

    assert unserved(KINDS, served).note(Served("the cluster (context c)", []), [file]) == (
        "The cluster (context c) does not serve kubeflow.org; nothing of these is read."
    )


def test_files_beside_a_cluster(tmp_path: Path) -> None:
    with serving_drawn(tmp_path) as served:
        served.load([group("train", 3, "rack"), *pods_of("train", 3)])
        pods = pods_of("waits", 4)
        for pod in pods:
            pod["spec"]["schedulerName"] = "kai-scheduler"
        served.load([group("waits", 4, "block"), *pods])
        served.load(group(f"empty-{i:02}", 1) for i in range(11))
        run = on(served, "plan", "-f", "-", stdin=pod_group("train", 2, "rack"))
        none = on(served, "get", "jobs")
        queued = on(served, "get", "workloads", "waits")

    notes = run.err.splitlines()
    assert (
        notes[0] == "note: PodGroup default/train is in the cluster too; that of <stdin>, document 1 is read."
    )
    assert notes[-2:] == [
        "note: 1 more remark on objects in the cluster; closeknit validate without files lists them all.",
        "note: The queue of the cluster was counted: 1 workload: 1 cannot be placed.",
    ]
    assert none.err == "There are no jobs.batch in namespace default.\n"
    assert queued.out.splitlines()[1].endswith("number 1 of 1 in the queue")


def test_versions_that_share_no_object(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.yaml").write_text(NODE.replace("n1", name))

    run = Run("validate", "-f", str(tmp_path / "new.yaml"), "--old", str(tmp_path / "old.yaml"))

    assert run.err == "note: No object stands in both the old and the new files.\n"


def test_problems_are_counted() -> None:
    one = Run("validate", "-f", "-", stdin=pod_group("a", -1))
    several = Run("validate", "-f", "-", stdin=pod_group("a", -1) + pod_group("b", -1))

    assert one.err.splitlines()[-1] == "1 problem found."
    assert several.err.splitlines()[-1] == "2 problems found."


def test_a_cluster_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.cli.up._greet", lambda *_: signal.raise_signal(signal.SIGINT))

    run = Run("up", "--nodes", "host=1", "--kubeconfig", str(tmp_path / "kubeconfig"))

    assert run.out == "\nThe cluster is down.\n"


def test_a_cluster_that_listens(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nodes = [{"kind": "Node"}, {"kind": "Node"}, {"kind": "Topology"}]
    up._greet(
        "https://127.0.0.1:1", "http://127.0.0.1:2", tmp_path / "kubeconfig", tmp_path / "state.db", nodes
    )
    lines = capsys.readouterr().out.splitlines()

    assert [text for text in lines if not text.startswith("  ")] == [
        "An embedded Kubernetes cluster listens on https://127.0.0.1:1, with 2 nodes.",
        f"Its state is in {tmp_path / 'state.db'}.",
        "Its live map is on http://127.0.0.1:2",
        "In another terminal:",
        "kubectl works there too.",
        "Ctrl-C ends it.",
    ]


def test_the_files_of_the_demo(tmp_path: Path) -> None:
    assert Run("demo", "--write", str(tmp_path)).out == f"Now try: closeknit plan -f {tmp_path}\n"


PROGRAM = "from closeknit.cli import main; main()"


def test_an_unexpected_error() -> None:
    broken = f"import closeknit.cli.validate as v; v._summary = None; {PROGRAM}"
    run = subprocess.run(
        [sys.executable, "-c", broken, "validate", "-f", "-"],
        input="",
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stderr.startswith("closeknit: unexpected error: TypeError: ")


def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, "nodes", "--shape", "host=1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert run.stderr == "closeknit: Standard output is not complete: No space left on device.\n"
