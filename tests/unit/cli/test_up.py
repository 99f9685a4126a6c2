"""``closeknit up`` as a process of its own."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from closeknit.cli.up import suggested
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli, hub, kube
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import NODES
from closeknit.kube.rest import connect, load_access
from tests.kit.problems import line, text
from tests.unit.cli.running import DRAWING, Run, numbers


@contextmanager
def running(tmp_path: Path, *arguments: str) -> Iterator[tuple[str, Path]]:
    """What it says, and its kubeconfig. It is told to end as Ctrl-C does."""
    kubeconfig = tmp_path / "kubeconfig"
    program = "from closeknit.cli import main; main()"
    command = [sys.executable, "-c", program, "up", "--kubeconfig", str(kubeconfig), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said += line
        own = kubeconfig.read_bytes()
        yield said, kubeconfig
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().strip()
        assert process.wait() == 0
        # Nothing but what the scheduler logs.
        assert {json.loads(line)["level"] for line in process.stderr.read().splitlines()} <= {"info"}
    assert not kubeconfig.exists() or kubeconfig.read_bytes() != own


async def labels(kubeconfig: Path, *, mark: str = "") -> dict[str, dict[str, str]]:
    async with connect(load_access(kubeconfig=str(kubeconfig)), component="test") as api:
        if mark:
            await api.patch(NODES, mark, MergePatch({"metadata": {"labels": {"marked": "yes"}}}))
        return {
            node["metadata"]["name"]: node["metadata"]["labels"] for node in (await api.list(NODES)).items
        }


def test_a_kubeconfig_that_another_cluster_has_written_since_is_left_to_it(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "host=1") as (_, kubeconfig):
        kubeconfig.unlink()
        kubeconfig.write_text("that of another")

    assert kubeconfig.read_text() == "that of another"


def test_a_second_one_leaves_the_kubeconfig_to_the_first_and_says_who_that_is(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "rack=2,host=3") as (said, kubeconfig):
        second = Run("up", "--nodes", "host=1", "--kubeconfig", str(kubeconfig))

        assert len(asyncio.run(labels(kubeconfig))) == 6
        cluster = json.loads(kubeconfig.read_bytes())["clusters"][0]["cluster"]
    assert (second.status, second.out) == (2, "")
    process = cluster["extensions"][0]["extension"]["pid"]
    facts = {"file": str(kubeconfig), "process": f"process {process}", "server": cluster["server"]}
    assert second.err == line(cli.KUBECONFIG_IN_USE, "--kubeconfig", **facts) + "\n"
    assert cluster["server"] in said


def test_what_it_suggests_works_when_pasted_beside_kubernetes_own_pod_groups_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    with running(folder, "--gang-api") as (said, kubeconfig):
        commands = [shlex.split(line) for line in said.splitlines() if line.startswith("  ")]
        exported = commands.pop(0)
        assert exported == ["export", f"KUBECONFIG={kubeconfig}"]
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        told = [Run(*words) for program, *words in commands if program == "closeknit"]

    assert [each.status for each in told] == [0, 0, 0, 0]
    assert told[-1].out.startswith("Name:        sample1\n")


def test_examples_are_suggested_where_there_are_some(tmp_path: Path) -> None:
    none = list(suggested(tmp_path / "kubeconfig", tmp_path / "examples"))
    (tmp_path / "examples").mkdir()
    some = list(suggested(tmp_path / "kubeconfig", tmp_path / "examples"))

    assert none[:2] == some[:2]
    assert none[2:] == ["closeknit get nodes,pods -A", "closeknit get workloads -A"]
    assert some[2] == f"closeknit apply -f {tmp_path}/examples/"


def test_files_with_nodes_are_the_whole_cluster(tmp_path: Path) -> None:
    with running(tmp_path, "-f", "examples/pending/nodes.yaml") as (_, kubeconfig):
        found = asyncio.run(labels(kubeconfig))

    assert not any(name.startswith("host-") for name in found)
    assert len(found) == 9


def test_a_cluster_is_served_until_ctrl_c(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "rack=2,host=3") as (said, kubeconfig):
        found = asyncio.run(labels(kubeconfig))
        mode = stat.S_IMODE(kubeconfig.stat().st_mode)

    assert numbers(said.splitlines()[0])[-1] == 6
    assert len(found) == 6
    assert {one["topology/rack"] for one in found.values()} == {"rack-1", "rack-2"}
    assert mode == 0o600


def test_ctrl_c_ends_it_as_soon_as_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.cli.up._greet", lambda *_: signal.raise_signal(signal.SIGINT))

    run = Run("up", "--nodes", "host=1", "--kubeconfig", str(tmp_path / "kubeconfig"))

    assert (run.status, run.out.count("\n")) == (0, 2)


def test_a_state_file_is_gone_on_from(tmp_path: Path) -> None:
    drawing = tmp_path / "cluster.txt"
    drawing.write_text(DRAWING)
    state = str(tmp_path / "state.db")
    with running(tmp_path, "--drawing", str(drawing), "--state", state) as (_, kubeconfig):
        first = asyncio.run(labels(kubeconfig, mark="x1"))
    with running(tmp_path, "--state", state) as (_, kubeconfig):
        second = asyncio.run(labels(kubeconfig))

    assert set(first) == {"x1", "x2", "x3", "x4", "x5"}
    assert second == first
    assert second["x1"]["marked"] == "yes"
    # It may hold Secrets.
    assert stat.S_IMODE(Path(state).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        pytest.param(
            ["--nodes", "rack=2,host=2", "--drawing", "x"],
            "",
            text(cli.NODES_AND_DRAWING),
            id="two ways to say it",
        ),
        pytest.param(
            ["--nodes", "rack=two"],
            "",
            line(cli.NOT_A_NUMBER_OF, "--nodes", number="two", level="rack"),
            id="a shape that is none",
        ),
        pytest.param(
            ["-f", "FILE"], "a: b", text(cli.NO_KUBERNETES_OBJECT), id="a file that holds no object"
        ),
        pytest.param(
            ["-f", "FILE"],
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}",
            'file.yaml:1:Pod/p: Pod "p" is invalid: spec.containers: Required value',
            id="an object that the cluster refuses",
        ),
        pytest.param(
            ["-f", "FILE"],
            "{apiVersion: a.b/v1, kind: Unheard, metadata: {name: p}}",
            text(kube.UNSERVED_KIND, version="a.b/v1"),
            id="a kind that is not served",
        ),
        pytest.param(
            ["-f", "FILE"],
            "{apiVersion: v1, kind: Pod}",
            line(kube.UNNAMED_OBJECT, "file.yaml:1:Pod/: metadata.name"),
            id="an object without metadata",
        ),
        pytest.param(
            ["--state", "FILE"],
            "no database" * 200,
            "--state: ",
            id="a state file that is something else",
        ),
        pytest.param(
            ["--kubeconfig", "FILE"],
            "somebody's own",
            line(cli.KUBECONFIG_OF_OTHERS, "--kubeconfig", file="FILE"),
            id="a kubeconfig of somebody's own",
        ),
        pytest.param(
            ["--kubeconfig", "."],
            "",
            line(cli.KUBECONFIG_UNREADABLE, "--kubeconfig", file=".", reason="Is a directory"),
            id="a folder",
        ),
        pytest.param(
            ["--kubeconfig", "no-such-folder/kubeconfig"],
            "",
            line(
                cli.KUBECONFIG_UNWRITABLE,
                "--kubeconfig",
                file="no-such-folder/kubeconfig",
                reason="No such file or directory",
            ),
            id="a kubeconfig that cannot be written",
        ),
        pytest.param(
            ["--port", "TAKEN"],
            "",
            "--port: TAKEN",
            id="a port in use",
        ),
        pytest.param(
            ["--map-port", "TAKEN"],
            "",
            "--map-port: TAKEN",
            id="a port of the map in use",
        ),
    ],
)
def test_what_cannot_be_served_is_said(
    tmp_path: Path, arguments: list[str], content: str, message: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(content)
    own = [] if "--kubeconfig" in arguments else ["--kubeconfig", str(tmp_path / "kubeconfig")]

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        values = {"FILE": str(file), "TAKEN": str(port)}
        run = Run("up", *(values.get(word, word) for word in arguments), *own)

    assert run.status == 2
    in_use = text(cli.CANNOT_LISTEN, port=port, reason="Address already in use")
    assert message.replace("FILE", str(file)).replace("TAKEN", in_use) in run.err
    assert file.read_text() == content


def test_a_kubeconfig_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps({"current-context": "closeknit"}))

    with running(tmp_path, "--nodes", "host=1") as (_, kubeconfig):
        assert len(asyncio.run(labels(kubeconfig))) == 1


def test_what_is_written_is_reviewed_and_topologies_may_stand_behind_what_names_them(tmp_path: Path) -> None:
    group = """
        {apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: NAME}, spec: {minMember: 1,
        topologyConstraint: {topology: racks, requiredTopologyLevel: LEVEL}}}
    """
    topology = "{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: racks}, spec: {levels: [{nodeLabel: rack}]}}"
    manifest = tmp_path / "right.yaml"
    manifest.write_text(f"{group.replace('NAME', 'right').replace('LEVEL', 'rack')}\n---\n{topology}\n")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(group.replace("NAME", "wrong").replace("LEVEL", "rak"))
    with running(tmp_path, "-f", str(manifest)) as (_, kubeconfig):
        again = Run("apply", "--kubeconfig", str(kubeconfig), "-f", str(manifest))
        refused = Run("apply", "--kubeconfig", str(kubeconfig), "-f", str(wrong))

    assert again.status == 0, again.err
    assert refused.status == 2
    remedy = OneOf.among("rak", ["rack"])
    assert text(hub.UNKNOWN_LEVEL, topology="racks", level="rak", remedy=remedy) in refused.err
