"""Traces whose workloads are manifests are replayed by the operators that make pods of them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import simulator
from closeknit.hub.sentences import text as text_codes
from closeknit.simulator import real_scheduler
from closeknit.simulator.measures import measured
from closeknit.simulator.scenario import ORIGINAL_SITE, Faults, Scenario
from closeknit.simulator.traces import own
from closeknit.text.documents import Source
from tests.kit.problems import Finding, finding, findings, line
from tests.scenario.commands import run
from tests.unit.simulator.sites import site

POD_CLIQUE_SET = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: serve}
spec:
  replicas: 1
  template:
    cliques:
    - name: router
      spec:
        roleName: router
        replicas: 1
        podSpec:
          containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
    - name: worker
      spec:
        roleName: worker
        replicas: 3
        podSpec:
          containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: 4}}}]
"""
TRACE = """
workloads:
- {name: plain, at: 0, runs: 10m, pods: 2, required: rack, resources: {nvidia.com/gpu: 8}}
- name: job
  at: 30
  runs: 20m
  manifest:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: train
      annotations: {kai.scheduler/batch-min-member: "2"}
    spec:
      parallelism: 2
      completions: 2
      template:
        spec:
          schedulerName: kai-scheduler
          restartPolicy: Never
          containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: "8"}}}]
- {name: set, at: 60, runs: 30m, manifest: set.yaml}
"""
MANIFEST = "t.yaml:workloads[0].manifest"
JOB = """
{apiVersion: batch/v1, kind: Job, metadata: {generateName: train-}, spec: {template: {spec:
  {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: a}]}}}}
"""
WORKFLOW = """
workflow:
  name: tune
  groups:
  - name: g
    tasks:
    - {name: a, image: i, command: [c]}
"""
POOL = """
{name: my-pool, common_default_variables: {USER_GPU: 1}, topology_keys: [{key: rack, label: rack}]}
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "set.yaml").write_text(POD_CLIQUE_SET)
    (tmp_path / "trace.yaml").write_text(TRACE)
    return tmp_path / "trace.yaml"


def scenario(trace: Path, faults: Faults = Faults()) -> Scenario:  # noqa: B008
    return Scenario(site(), own.read(Source(str(trace), trace.read_bytes()), site(), 1, 100), faults)


def test_operators_make_the_pods_and_equal_traces_give_equal_histories(trace: Path) -> None:
    replayed = scenario(trace)
    history, again = (real_scheduler.replay(replayed) for _ in range(2))

    assert history == again
    names = [replayed.submissions[stay.submission].name for stay in history.stays]
    assert (names, [stay.lost for stay in history.stays]) == (["plain", "job", "set"], [False] * 3)
    pods = {
        name: sum(count for _, count in stay.nodes) for name, stay in zip(names, history.stays, strict=True)
    }
    assert pods == {"plain": 2, "job": 2, "set": 4}
    gpus = [sum(held.get("nvidia.com/gpu", 0) for _, held in stay.held) for stay in history.stays]
    assert gpus == [0, 16, 13]
    figures = measured(replayed, history, "closeknit", ORIGINAL_SITE, 3600.0)
    assert figures.summary["never_ran"] == 0
    assert [waits.devices for waits in figures.waits] == ["9-16"]


def test_what_a_lost_node_ends_is_submitted_again(trace: Path) -> None:
    history = real_scheduler.replay(scenario(trace, Faults(per_node_day=40.0, repair=300.0)))

    whole = [stay.submission for stay in history.stays if not stay.lost]
    assert sorted(whole) == [0, 1, 2]
    assert any(stay.lost for stay in history.stays)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "{name: w, at: 0, runs: 1, manifest: gone.yaml}",
            finding(
                simulator.NO_MANIFEST_FILE, MANIFEST, file="gone.yaml", reason="No such file or directory"
            ),
            id="a file that is not there",
        ),
        pytest.param(
            "{name: w, at: 0, runs: 1, manifest: 7}",
            finding(
                simulator.NOT_A_MAPPING,
                MANIFEST,
                found="no object",
                example="an object, a list of objects, or the name of a file",
            ),
            id="no object",
        ),
        pytest.param(
            "{name: w, at: 0, runs: 1, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: team}}}",
            finding(simulator.NO_PODS_ASKED, MANIFEST),
            id="an object without pods",
        ),
        pytest.param(
            "{name: w, at: 0, runs: 1, manifest: broken.yaml}",
            finding(
                text_codes.NOT_YAML,
                f"{MANIFEST}: broken.yaml:line 2, column 1",
                reason="while parsing a flow sequence, did not find expected ',' or ']'",
                remedy="",
            ),
            id="a file that is no YAML",
        ),
        pytest.param(
            "{name: w, at: 0, runs: 1, manifest: empty.yaml}",
            finding(simulator.NO_PODS_ASKED, MANIFEST),
            id="an empty file",
        ),
        pytest.param(
            "{name: w, at: 0, runs: 1, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {}}]}",
            finding(simulator.MISSING_FIELD, f"{MANIFEST}[0].metadata.name", example="a name"),
            id="an object without a name",
        ),
        pytest.param(
            "{name: w, at: 0, manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {oops: 1}}}",
            finding(
                simulator.MISSING_FIELD, "t.yaml:workloads[0].runs", example="how long it runs, such as 2h"
            ),
            id="a field of the trace",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(
    text: str, expected: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "broken.yaml").write_text("[a\n")
    with pytest.raises(InvalidError) as refused:
        own.read(Source("t.yaml", f"workloads: [{text}]".encode()), site(), 1, 100)

    assert expected in findings(refused.value.problems)


@pytest.mark.parametrize(
    ("manifest", "kind"),
    [
        pytest.param(JOB, "Job", id="an object that leaves its name to the server"),
        pytest.param("{apiVersion: v1, kind: List, items: [" + JOB + "]}", "Job", id="a List of objects"),
        pytest.param(WORKFLOW, "Workflow", id="a workflow as OSMO writes it"),
    ],
)
@pytest.mark.parametrize("in_file", [True, False], ids=["in a file", "in the trace"])
def test_manifests_as_people_have_them(manifest: str, kind: str, tmp_path: Path, *, in_file: bool) -> None:
    (tmp_path / "object.yaml").write_text(manifest)
    # Where there are queues a Job has to name one.
    (tmp_path / "pool.yaml").write_text(POOL if kind == "Workflow" else "")
    text = "object.yaml" if in_file else "\n" + textwrap.indent(manifest, "    ")
    trace = tmp_path / "trace.yaml"
    trace.write_text(f"setup: pool.yaml\nworkloads:\n- name: one\n  at: 0\n  runs: 60\n  manifest: {text}\n")

    replayed = scenario(trace)
    (one,) = replayed.submissions
    assert one.manifests is not None
    assert [each["kind"] for each in one.manifests.objects] == [kind]
    (stay,) = real_scheduler.replay(replayed).stays
    assert (sum(pods for _, pods in stay.nodes), stay.lost) == (1, False)


def test_two_workloads_do_not_make_one_object(trace: Path) -> None:
    trace.write_text(TRACE + "- {name: again, at: 90, runs: 30m, manifest: set.yaml}\n")
    with pytest.raises(InvalidError) as refused:
        scenario(trace)

    assert findings(refused.value.problems) == [
        finding(simulator.OBJECT_TWICE, str(trace), object="PodCliqueSet default/serve")
    ]


def test_only_the_real_scheduler_replays_manifests(trace: Path, tmp_path: Path) -> None:
    shape = ("--nodes", "block=2,rack=2,host=2", "--into", tmp_path / "out")
    refused = run("simulate", "--trace", trace, *shape, "--policy", "kai")
    assert (refused.exit_code, refused.stderr) == (
        2,
        f"{line(simulator.MANIFESTS_NEED_OURS, '--policy', name='kai')}\n",
    )

    done = run("simulate", "--trace", trace, *shape)
    (note,) = done.stderr.splitlines()
    assert done.exit_code == 0
    assert note.startswith("note: ")
    assert "closeknit" in note
