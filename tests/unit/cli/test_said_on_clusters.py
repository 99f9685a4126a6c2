"""What commands say that read a cluster: notes on its objects, and errors that name the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli, core
from tests.kit.problems import line, text
from tests.serving import Serving, serving
from tests.unit.cli.on_clusters import group, pods_of, serving_drawn
from tests.unit.cli.running import Run, numbers, on, pod_group

WHERE = "the cluster (context closeknit)"
CLUSTER = "The cluster (context closeknit)"
ABSENT = "leaderworkerset.x-k8s.io"
"""The group of a kind that the embedded cluster does not know; a note names it."""


def awaiting(group: str, needed: str, existing: str) -> str:
    """The note on a group of the cluster whose pods have not all been created."""
    where = f"note: PodGroup/default/{group} in {WHERE}: spec.minMember"
    return line(core.PODS_NOT_THERE, where, needed=needed, given=existing)


def no_workload(name: str) -> str:
    return line(cli.NO_WORKLOADS, "WORKLOAD", name=name, holders=f"{WHERE} holds")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    with serving_drawn(tmp_path) as running:
        yield running


class TestWhatIsSaid:
    """Notes on objects of the cluster, and errors that name the remedy."""

    def test_nothing_is_assumed_for_a_group_without_pods(self, served: Serving) -> None:
        served.load([group("empty", 3), group("half", 3), *pods_of("half", 1)])

        run = on(served, "plan")

        assert run.status == 0
        assert WHERE in run.out
        assert on(served, "plan", "-o", "json").json() == {"outcomes": []}
        assert run.err.splitlines() == [
            awaiting("empty", "3 pods", "none are there"),
            awaiting("half", "3 pods", "1 is there"),
        ]

    @pytest.mark.parametrize("command", ["plan", "validate"])
    def test_a_kind_that_is_not_served_is_told_where_a_file_is_of_it(
        self, served: Serving, command: str
    ) -> None:
        leaders = {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": {"name": "train"},
            "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": []}}}},
        }

        with_one = on(served, command, "-f", "-", stdin=json.dumps(leaders))
        without = on(served, command, "-f", "-", stdin=pod_group("train", 1))

        (note,) = [remark for remark in with_one.err.splitlines() if ABSENT in remark]
        assert note.startswith(f"note: {CLUSTER} ")
        assert ABSENT not in without.err

    def test_what_is_wrong_in_the_cluster_is_a_note_unless_that_is_the_question(
        self, served: Serving
    ) -> None:
        wrong = [group("wrong", 1, "rakc"), *pods_of("wrong", 1)]
        served.load(wrong)

        topology = on(served, "topology")
        planned = on(served, "plan", "-f", "-", stdin=pod_group("new", 1, "rack"))
        validated = on(served, "validate")

        told = f"PodGroup/default/wrong in {WHERE}: spec.topologyConstraint.requiredTopologyLevel: "
        assert (topology.status, planned.status, validated.status) == (0, 0, 2)
        assert f"note: {told}" in topology.err
        assert f"note: {told}" in planned.err
        assert any(line.startswith(told) for line in validated.err.splitlines())
        assert numbers(validated.err.splitlines()[-1]) == [1]

    def test_many_remarks_do_not_drown_the_rest(self, served: Serving) -> None:
        served.load(group(f"empty-{i:02}", 1) for i in range(14))

        run = on(served, "plan")
        validated = on(served, "validate")

        remarks = [awaiting(f"empty-{i:02}", "1 pod", "none are there") for i in range(14)]
        *shown, more = run.err.splitlines()
        assert shown == remarks[:10]
        assert more.startswith("note: ")
        assert numbers(more) == [4]
        assert "closeknit validate" in more
        assert (validated.status, validated.err.splitlines()) == (0, remarks)

    @pytest.mark.parametrize(
        ("arguments", "lines"),
        [
            pytest.param(("plan",), [[line(cli.NOTHING_TO_READ, "-f")]], id="neither files nor a cluster"),
            pytest.param(
                ("plan", "--kubeconfig", "KUBECONFIG", "--context", "closeknot"),
                [["--context: ", "KUBECONFIG", "'closeknot'", ": closeknit.", "'closeknit'"]],
                id="a context that is not there",
            ),
            pytest.param(
                ("get", "pods", "--kubeconfig", "no/such/file"),
                [["--kubeconfig: ", "no/such/file"]],
                id="a kubeconfig that is not there",
            ),
            pytest.param(
                ("nodes", "--kubeconfig", "KUBECONFIG", "--shape", "host=3"),
                [[line(cli.SHAPE_AND_CLUSTER, "--shape", option="--shape")]],
                id="a shape and a cluster",
            ),
            pytest.param(
                ("topology", "--kubeconfig", "KUBECONFIG", "--topology", "tt"),
                [
                    [
                        line(
                            cli.UNKNOWN_TOPOLOGY,
                            "--topology",
                            holders=f"{CLUSTER} holds",
                            topology="tt",
                            remedy=OneOf.among("tt", ["t"]),
                        )
                    ]
                ],
                id="a topology that is not there",
            ),
            pytest.param(
                ("explain", "--kubeconfig", "KUBECONFIG", "train"),
                [[no_workload("train")]],
                id="a workload that is not there",
            ),
            pytest.param(
                ("explain", "--kubeconfig", "KUBECONFIG", "LeaderWorkerSet/default/train"),
                [["note: ", CLUSTER, ABSENT], [no_workload("LeaderWorkerSet/default/train")]],
                id="a workload of a kind that the cluster does not serve",
            ),
        ],
    )
    def test_wrong_usage_has_a_remedy(
        self, served: Serving, arguments: tuple[str, ...], lines: list[list[str]]
    ) -> None:
        """Each line begins with the first of its parts, and has the others in it."""
        kubeconfig = str(served.kubeconfig)

        run = Run(*(kubeconfig if word == "KUBECONFIG" else word for word in arguments))

        assert (run.status, run.out) == (2, "")
        for message, parts in zip(run.err.splitlines(), lines, strict=True):
            assert message.startswith(parts[0])
            for part in parts[1:]:
                assert part.replace("KUBECONFIG", kubeconfig) in message

    def test_a_cluster_that_is_not_there(self, tmp_path: Path) -> None:
        with serving(tmp_path / "kubeconfig") as gone:
            configuration = json.loads(gone.kubeconfig.read_text())
            address = configuration["clusters"][0]["cluster"]["server"]

        run = Run("plan", "--kubeconfig", str(tmp_path / "kubeconfig"))

        assert (run.status, run.out) == (1, "")
        reason = f"{address} cannot be reached: Connection refused"
        assert run.err == text(cli.CLUSTER_NOT_REACHED, cluster=CLUSTER, reason=reason) + "\n"

    def test_a_certificate_that_nobody_vouches_for(self, served: Serving, tmp_path: Path) -> None:
        configuration = json.loads(served.kubeconfig.read_text())
        del configuration["clusters"][0]["cluster"]["certificate-authority-data"]
        kubeconfig = tmp_path / "untrusted.kubeconfig"
        kubeconfig.write_text(json.dumps(configuration))

        run = Run("plan", "--kubeconfig", str(kubeconfig))

        assert (run.status, run.out) == (1, "")
        assert "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed" in run.err
        assert "object at" not in run.err

    def test_credentials_that_are_not_accepted(self, served: Serving, tmp_path: Path) -> None:
        configuration = json.loads(served.kubeconfig.read_text())
        address = configuration["clusters"][0]["cluster"]["server"]
        configuration["users"][0]["user"] = {"token": "expired"}
        kubeconfig = tmp_path / "expired.kubeconfig"
        kubeconfig.write_text(json.dumps(configuration))

        run = Run("plan", "--kubeconfig", str(kubeconfig))

        assert run.status == 2
        assert run.err == (
            text(cli.NOT_LOGGED_IN, cluster=CLUSTER, address=address, reason="Unauthorized") + "\n"
        )
