"""Commands that read a cluster: the same answers as from files, and files read beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli import live
from closeknit.dialects import KINDS
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli, kai
from tests.kit.problems import line
from tests.serving import Serving
from tests.unit.cli.on_clusters import group, pods_of, serving_drawn
from tests.unit.cli.running import Run, numbers, on, outcomes, pod_group

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    with serving_drawn(tmp_path) as running:
        yield running


def everything(served: Serving) -> list[dict[str, Any]]:
    """All objects of the cluster that are read, as they are."""

    async def listed(cluster: Any) -> list[dict[str, Any]]:
        readable = live.readable(KINDS, await cluster.resources())
        return [each for versions in readable.values() for each in (await cluster.list(versions[0])).items]

    return served.ask(listed)


def unused(told: Any) -> Any:
    """A topology without what runs in it, which is not printed with nodes."""
    if isinstance(told, dict):
        return {key: unused(value) for key, value in told.items() if key != "used"}
    return [unused(each) for each in told] if isinstance(told, list) else told


class TestTheSameAsFromFiles:
    """What is planned from a cluster is planned from a file with the same objects."""

    @pytest.fixture
    def both(self, served: Serving, tmp_path: Path) -> tuple[Serving, Path]:
        """A cluster with workloads of several families, and a file with all of its objects."""
        written = [
            each
            for folder in ("kai", "kueue")
            for file in sorted((EXAMPLES / folder).glob("*.yaml"))
            for each in yaml.safe_load_all(file.read_text())
        ]
        for each in written:
            # A cluster would take them away, because they name owners that do not exist.
            each["metadata"].pop("ownerReferences", None)
        served.load(written)
        served.load([group("wide", 2, "block"), *pods_of("wide", 2), group("large", 9, "rack")])
        served.load(pods_of("large", 9))
        file = tmp_path / "dump.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": everything(served)}))
        return served, file

    @pytest.mark.parametrize("output", ["text", "json", "svg"])
    def test_a_plan(self, both: tuple[Serving, Path], output: str) -> None:
        served, file = both

        from_cluster = on(served, "plan", "-o", output)
        from_file = Run("plan", "-f", str(file), "-o", output)

        assert from_cluster.out == from_file.out
        assert from_cluster.status == from_file.status == 3
        assert from_cluster.out.count("large") > 0

    @pytest.mark.parametrize(
        "command",
        [
            ("explain", "default/large"),
            ("explain", "default/large", "-o", "json"),
            ("topology",),
            ("topology", "--check"),
            ("topology", "-o", "json"),
            ("status",),
            ("status", "-o", "json"),
        ],
        ids=" ".join,
    )
    def test_other_commands(self, both: tuple[Serving, Path], command: tuple[str, ...]) -> None:
        served, file = both

        from_cluster = on(served, *command)
        from_file = Run(*command, "-f", str(file))

        assert (from_cluster.out, from_cluster.status) == (from_file.out, from_file.status)
        assert from_cluster.out

    def test_nodes_read_back_as_the_same_nodes(self, served: Serving, tmp_path: Path) -> None:
        printed = on(served, "nodes", "--topology", "t")
        (tmp_path / "nodes.yaml").write_text(printed.out)

        from_cluster = on(served, "topology", "-o", "json").json()
        from_file = Run("topology", "-f", str(tmp_path / "nodes.yaml"), "-o", "json").json()

        assert unused(from_file) == unused(from_cluster)
        assert (printed.status, printed.err) == (0, "")


def lone_pod(name: str, scheduler: str) -> dict[str, Any]:
    (made,) = pods_of(name, 1)
    made["metadata"] = {"name": name}
    made["spec"]["schedulerName"] = scheduler
    return made


NIGHTLY = ("--scheduler-name", "nightly")
USUAL = ("--scheduler-name", "kai-scheduler")


class TestSchedulerNames:
    """Single pods are workloads where they name a scheduler that is Closeknit."""

    @pytest.mark.parametrize(
        ("options", "planned"),
        [
            pytest.param((), ["usual"], id="the usual names"),
            pytest.param(NIGHTLY, ["late"], id="another name in their place"),
            pytest.param((*NIGHTLY, *USUAL), ["late", "usual"], id="several names"),
        ],
    )
    def test_those_of_the_cluster_and_of_files(
        self, served: Serving, options: tuple[str, ...], planned: list[str]
    ) -> None:
        pods = [lone_pod("late", "nightly"), lone_pod("usual", "kai-scheduler")]
        served.load(pods)
        of_cluster = on(served, "plan", "-o", "json", *options)
        dump: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": everything(served)}
        of_file = Run("plan", "-f", "-", "-o", "json", *options, stdin=json.dumps(dump))
        dump["metadata"] = {"annotations": {"closeknit.dev/schedulers": "closeknit,kai-scheduler"}}
        of_snapshot = Run("plan", "-f", "-", "-o", "json", *options, stdin=json.dumps(dump))

        for run in (of_cluster, of_file, of_snapshot):
            assert [each["workload"]["name"] for each in outcomes(run)] == planned

    def test_they_can_be_explained(self, served: Serving) -> None:
        served.load([lone_pod("late", "nightly")])

        unknown = on(served, "explain", "late")
        known = on(served, "explain", "late", "-o", "json", *NIGHTLY)

        assert unknown.status == 2
        (outcome,) = outcomes(known)
        assert (outcome["workload"]["kind"], outcome["workload"]["name"]) == ("Pod", "late")
        assert (outcome["status"], len(outcome["pods"])) == ("placed", 1)

    @pytest.mark.parametrize("command", [("plan",), ("explain", "late")], ids=" ".join)
    def test_a_name_that_no_pod_can_name(self, command: tuple[str, ...]) -> None:
        run = Run(*command, "-f", "-", "--scheduler-name", "No Name")

        assert (run.status, run.out) == (2, "")
        assert run.err == line(cli.NO_SCHEDULER_NAME, "--scheduler-name", name="No Name") + "\n"


class TestFilesOnACluster:
    """The question "would this fit now?"."""

    def test_what_runs_is_counted(self, served: Serving) -> None:
        fits = on(served, "plan", "-f", "-", "-o", "json", stdin=pod_group("new", 2, "rack"))
        does_not = on(served, "plan", "-f", "-", "-o", "json", stdin=pod_group("new", 3, "rack"))

        (placed,) = outcomes(fits)
        assert {pod["node"] for pod in placed["pods"]} == {"x3", "x4"}
        assert (fits.status, does_not.status) == (0, 3)

    def test_only_the_workloads_of_the_files_are_shown_and_the_queue_of_the_cluster_is_counted(
        self, served: Serving
    ) -> None:
        served.load([group("waiting", 4, "block"), *pods_of("waiting", 4)])
        served.load([group("first", 2, "rack"), *pods_of("first", 2)])

        run = on(served, "plan", "-f", "-", "-o", "json", stdin=pod_group("new", 2, "rack"))

        (outcome,) = outcomes(run)
        assert (outcome["workload"]["name"], outcome["status"], run.status) == ("new", "unplaceable", 3)
        # Two workloads wait in the cluster, of which one is placed and one is not.
        assert numbers(run.err.splitlines()[-1]) == [2, 1, 1]

    def test_without_a_workload_in_the_files_those_of_the_cluster_are_shown(self, served: Serving) -> None:
        served.load([group("waiting", 5), *pods_of("waiting", 5)])
        more = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x6"}}
        more["status"] = {
            "allocatable": {"nvidia.com/gpu": "8", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }

        without = on(served, "plan")
        with_one_more = on(served, "plan", "-f", "-", "-o", "json", stdin=json.dumps(more))

        assert (without.status, with_one_more.status) == (3, 0)
        (outcome,) = outcomes(with_one_more)
        assert (outcome["workload"]["name"], outcome["status"]) == ("waiting", "placed")
        assert len({pod["node"] for pod in outcome["pods"]}) == len(outcome["pods"]) == 5

    def test_the_version_in_a_file_wins_and_a_note_says_so(self, served: Serving) -> None:
        served.load([group("train", 3, "rack"), *pods_of("train", 3)])

        run = on(served, "plan", "-f", "-", "-o", "json", stdin=pod_group("train", 2, "rack"))

        (outcome,) = outcomes(run)
        assert (outcome["workload"]["name"], outcome["status"]) == ("train", "placed")
        assert len({pod["node"] for pod in outcome["pods"]}) == len(outcome["pods"]) == 2
        (note,) = [remark for remark in run.err.splitlines() if "PodGroup default/train" in remark]
        assert note.startswith("note: ")
        assert "<stdin>, document 1" in note

    def test_objects_without_a_namespace_belong_to_that_of_the_context(
        self, served: Serving, tmp_path: Path
    ) -> None:
        configuration = json.loads(served.kubeconfig.read_text())
        configuration["contexts"][0]["context"]["namespace"] = "team"
        kubeconfig = tmp_path / "team.kubeconfig"
        kubeconfig.write_text(json.dumps(configuration))

        run = Run(
            "plan",
            "--kubeconfig",
            str(kubeconfig),
            "-f",
            "-",
            "-o",
            "json",
            stdin=pod_group("new", 1, "rack"),
        )

        assert [each["workload"]["namespace"] for each in outcomes(run)] == ["team"]

    def test_topologies_are_looked_up_in_the_cluster(self, served: Serving) -> None:
        wrong = pod_group("train", 2, "rack").replace("topology: t", "topology: tt")

        run = on(served, "validate", "-f", "-", stdin=wrong)
        right = on(served, "validate", "-f", "-", stdin=pod_group("train", 2, "rack"))

        assert run.status == 2
        allowed = OneOf.among("tt", ["t"])
        missing = line(
            kai.TOPOLOGY_NOT_THERE,
            "<stdin>:1:spec.topologyConstraint.topology",
            topology="tt",
            allowed=allowed,
        )
        assert missing in run.err
        assert (right.status, numbers(right.out)[:2]) == (0, [1, 5])

    def test_what_may_not_change_from_the_cluster_is_told(self, served: Serving) -> None:
        topology = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": "dc"},
            "spec": {"levels": [{"nodeLabel": "block"}, {"nodeLabel": "rack"}]},
        }
        served.load([topology])
        changed = json.dumps(topology).replace("rack", "row")

        run = on(served, "validate", "-f", "-", stdin=changed)
        same = on(served, "validate", "-f", "-", stdin=json.dumps(topology))

        assert (run.status, same.status) == (2, 0)
        assert "<stdin>:1:spec.levels" in run.err


def test_an_object_of_two_versions_is_read_in_the_one_in_which_it_is_written(served: Serving) -> None:
    written = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "old"},
        "spec": {"services": {"worker": {"componentType": "worker", "replicas": 2}}},
    }
    new = {
        **written,
        "apiVersion": "nvidia.com/v1beta1",
        "metadata": {"name": "new"},
        "spec": {"components": [{"name": "worker", "type": "worker", "replicas": 2}]},
    }
    served.load([written, new])

    found = {each["workload"]["name"]: each for each in outcomes(on(served, "plan", "-o", "json"))}

    assert {name: each["workload"]["apiVersion"] for name, each in found.items()} == {
        "old": "nvidia.com/v1alpha1",
        "new": "nvidia.com/v1beta1",
    }
    assert {each["status"] for each in found.values()} == {"placed"}
