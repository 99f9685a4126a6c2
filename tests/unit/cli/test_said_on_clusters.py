"""What commands say that read a cluster: notes on its objects, and errors that name the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Serving, serving
from tests.unit.cli.on_clusters import group, pods_of, serving_drawn
from tests.unit.cli.running import Run, on, pod_group

WHERE = "the cluster (context closeknit)"
ABSENT = f"note: {WHERE[0].upper()}{WHERE[1:]} does not serve leaderworkerset.x-k8s.io; nothing of these is read.\n"
"""What is said of a kind that the embedded cluster does not know."""


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
        assert run.out == f"There is no workload in {WHERE}, so there is nothing to place.\n"
        assert run.err == (
            f"note: PodGroup/default/empty in {WHERE}: spec.minMember: 3 pods must run at once, and none are there."
            " It is planned once they are.\n"
            f"note: PodGroup/default/half in {WHERE}: spec.minMember: 3 pods must run at once, and 1 is there."
            " It is planned once they are.\n"
        )

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

        assert ABSENT in with_one.err
        assert "does not serve" not in without.err

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
        assert validated.err.endswith("1 problem found.\n")

    def test_many_remarks_do_not_drown_the_rest(self, served: Serving) -> None:
        served.load(group(f"empty-{i:02}", 1) for i in range(14))

        run = on(served, "plan")
        validated = on(served, "validate")

        assert run.err.count("is planned once") == 10
        assert "note: 4 more remarks on objects in the cluster; closeknit validate without files" in run.err
        assert (validated.status, validated.err.count("is planned once")) == (0, 14)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            pytest.param(
                ("plan",),
                "-f: Nothing is named to read. Name files with -f, or a cluster with --context or --kubeconfig.\n",
                id="neither files nor a cluster",
            ),
            pytest.param(
                ("plan", "--kubeconfig", "KUBECONFIG", "--context", "closeknot"),
                "--context: KUBECONFIG: there is no context 'closeknot'. The contexts are: closeknit."
                " Did you mean 'closeknit'?\n",
                id="a context that is not there",
            ),
            pytest.param(
                ("get", "pods", "--kubeconfig", "no/such/file"),
                "--kubeconfig: There is no kubeconfig file no/such/file.\n",
                id="a kubeconfig that is not there",
            ),
            pytest.param(
                ("nodes", "--kubeconfig", "KUBECONFIG", "--shape", "host=3"),
                "--shape: --shape describes nodes that are made up, and the nodes of a cluster are asked for."
                " Leave one of them out.\n",
                id="a shape and a cluster",
            ),
            pytest.param(
                ("topology", "--kubeconfig", "KUBECONFIG", "--topology", "tt"),
                '--topology: The cluster (context closeknit) holds no topology "tt".'
                ' Did you mean "t"? Allowed: "t".\n',
                id="a topology that is not there",
            ),
            pytest.param(
                ("explain", "--kubeconfig", "KUBECONFIG", "train"),
                f'WORKLOAD: There is no workload "train": {WHERE} holds no workload.\n',
                id="a workload that is not there",
            ),
            pytest.param(
                ("explain", "--kubeconfig", "KUBECONFIG", "LeaderWorkerSet/default/train"),
                f'{ABSENT}WORKLOAD: There is no workload "LeaderWorkerSet/default/train": {WHERE} holds no workload.\n',
                id="a workload of a kind that the cluster does not serve",
            ),
        ],
    )
    def test_wrong_usage_has_a_remedy(
        self, served: Serving, arguments: tuple[str, ...], message: str
    ) -> None:
        words = [str(served.kubeconfig) if word == "KUBECONFIG" else word for word in arguments]

        run = Run(*words)

        assert (run.status, run.out) == (2, "")
        assert run.err == message.replace("KUBECONFIG", str(served.kubeconfig))

    def test_a_cluster_that_is_not_there(self, tmp_path: Path) -> None:
        with serving(tmp_path / "kubeconfig") as gone:
            text = gone.kubeconfig.read_text()
            address = json.loads(text)["clusters"][0]["cluster"]["server"]

        run = Run("plan", "--kubeconfig", str(tmp_path / "kubeconfig"))

        assert (run.status, run.out) == (1, "")
        assert run.err == (
            f"The cluster (context closeknit) cannot be asked: {address} cannot be reached: Connection refused."
            " Check that it runs, or name another one with --context or --kubeconfig.\n"
        )

    def test_a_certificate_that_nobody_vouches_for(self, served: Serving, tmp_path: Path) -> None:
        configuration = json.loads(served.kubeconfig.read_text())
        del configuration["clusters"][0]["cluster"]["certificate-authority-data"]
        kubeconfig = tmp_path / "untrusted.kubeconfig"
        kubeconfig.write_text(json.dumps(configuration))

        run = Run("plan", "--kubeconfig", str(kubeconfig))

        assert (run.status, run.out) == (1, "")
        assert "cannot be reached: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed" in run.err
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
            f"The cluster (context closeknit), {address}, does not accept who asks: Unauthorized."
            " Log in again, or name another one with --context or --kubeconfig.\n"
        )
