"""apply, get, describe and delete, against an embedded cluster over HTTP."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.describe import described
from closeknit.cli.resource_names import resource_named, resources_named
from closeknit.cli.tables import TablePrinter
from closeknit.hub.problems import InvalidError
from closeknit.kube.port import ApplyPatch, MergePatch
from closeknit.kube.resources import CONFIG_MAPS, CORE_EVENTS, EVENTS, JOBS, NODES, PODS, Resource
from closeknit.kube.rest.tables import Column, Row
from tests.serving import Serving, serving
from tests.unit.cli.running import Run

EXAMPLES = Path(__file__).parents[3] / "examples"

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: main, image: busybox}]}
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: fast}
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    """A cluster with the definitions of KAI alone."""
    with serving(tmp_path / "kubeconfig", ["kai"]) as running:
        yield running


def on(served: Serving, *arguments: str, stdin: str = "") -> Run:
    return Run(*arguments, "--kubeconfig", str(served.kubeconfig), stdin=stdin)


def plain(run: Run) -> tuple[int, str, str]:
    return run.status, run.out, run.err


class TestApply:
    """What files hold gets into the cluster, and everything that is refused is told."""

    def test_it_says_what_became_of_each_object(self, served: Serving) -> None:
        first = on(served, "apply", "-f", "-", stdin=f"{POD}---{CONFIG}")
        again = on(served, "apply", "-f", "-", stdin=f"{POD}---{CONFIG}")
        changed = on(served, "apply", "-f", "-", stdin=CONFIG.replace("fast", "slow"))

        assert plain(first) == (0, "pod/web created\nconfigmap/settings created\n", "")
        assert plain(again) == (0, "pod/web unchanged\nconfigmap/settings unchanged\n", "")
        assert plain(changed) == (0, "configmap/settings configured\n", "")

    def test_an_object_that_others_wrote_alike_is_unchanged(self, served: Serving) -> None:
        served.load([yaml.safe_load(CONFIG)])

        assert plain(on(served, "apply", "-f", "-", stdin=CONFIG)) == (
            0,
            "configmap/settings unchanged\n",
            "",
        )

    def test_a_dry_run_changes_nothing(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=CONFIG)
        slow = CONFIG.replace("fast", "slow")

        dry = on(served, "apply", "--dry-run", "-f", "-", stdin=f"{slow}---{POD}")
        same = on(served, "apply", "--dry-run", "-f", "-", stdin=CONFIG)

        assert plain(dry) == (0, "configmap/settings configured (dry run)\npod/web created (dry run)\n", "")
        assert plain(same) == (0, "configmap/settings unchanged (dry run)\n", "")
        assert on(served, "get", "pods", "-o", "name").out == ""

    def test_what_others_need_comes_first_and_custom_kinds_follow_their_definition(
        self, served: Serving, tmp_path: Path
    ) -> None:
        (tmp_path / "crds.yaml").write_text(Run("crds", "--family", "osmo").out)
        namespaced = POD.replace("name: web,", "name: web, namespace: team,")
        namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
        (tmp_path / "pod.yaml").write_text(f"{namespaced}---\n{namespace}")
        workflow = EXAMPLES / "osmo" / "single-nvl72-rack.yaml"
        pools = sorted((EXAMPLES / "osmo").glob("*pool*"))

        run = on(
            served,
            "apply",
            *(word for file in (workflow, *pools) for word in ("-f", str(file))),
            "-f",
            str(tmp_path / "pod.yaml"),
            "-f",
            str(tmp_path / "crds.yaml"),
        )

        assert (run.status, run.err) == (0, "")
        assert "workflow.osmo.closeknit.dev/single-nvl72-rack created\n" in run.out
        assert "pod/web created\nnamespace/team created\n" in run.out

    def test_all_refusals_at_once_each_with_its_place_and_its_remedy(
        self, served: Serving, tmp_path: Path
    ) -> None:
        file = tmp_path / "f.yaml"
        objects = [
            POD.replace("image: busybox", "image: ''").replace("main", "Main"),
            CONFIG,
            "apiVersion: osmo.closeknit.dev/v1alpha1\nkind: Pool\nmetadata: {name: p}\n",
            "apiVersion: kai.scheduler/v7\nkind: Topology\nmetadata: {name: t}\n",
            "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
            "apiVersion: v1\nkind: Pdo\nmetadata: {name: w}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n",
            POD.replace("name: web,", "name: web, namespace: taem,"),
        ]
        file.write_text("---".join(f"\n{each}" for each in objects))

        run = on(served, "apply", "-f", str(file))

        assert (run.status, run.out) == (2, "configmap/settings created\n")
        told = [line.removeprefix(f"{file}:") for line in run.err.splitlines()]
        here = "The cluster (context closeknit)"
        assert [line for line in told if line.startswith("1:Pod web: spec.containers[0].")][1:]
        assert told[-6:] == [
            f"3:Pool p: apiVersion: {here} does not serve Pool of osmo.closeknit.dev/v1alpha1."
            " Install it first: closeknit crds --family osmo | closeknit apply -f -",
            f"4:Topology t: apiVersion: {here} does not serve Topology of kai.scheduler/v7."
            " It serves kai.scheduler/v1, kai.scheduler/v1alpha1; write that instead.",
            f"5:Widget w: apiVersion: {here} does not serve Widget of example.com/v1."
            " Install the definition of the kind first, or correct apiVersion and kind.",
            f"6:Pdo w: apiVersion: {here} does not serve Pdo of v1. Did you mean Pod?",
            "7:metadata.name: The object has no name. Give it one.",
            '8:Pod web: metadata.namespace: There is no namespace "taem".'
            " Create it first, or name another one with -n.",
        ]

    def test_fields_of_others_are_taken_over_only_when_told(self, served: Serving) -> None:
        body = yaml.safe_load(CONFIG.replace("fast", "slow"))
        served.ask(
            lambda one: one.patch(CONFIG_MAPS, "settings", ApplyPatch(body, "other"), namespace="default")
        )

        refused = on(served, "apply", "-f", "-", stdin=CONFIG)
        forced = on(served, "apply", "--force-conflicts", "-f", "-", stdin=CONFIG)

        assert refused.status == 2
        assert refused.err.startswith("<stdin>:1:ConfigMap settings: Apply failed with 1 conflict: ")
        assert refused.err.endswith(" Take those fields out, or take them over with --force-conflicts.\n")
        assert plain(forced) == (0, "configmap/settings configured\n", "")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("a: [", "<stdin>:1: line", id="no YAML"),
            pytest.param("- 1", "<stdin>:1: This is no Kubernetes object: it has no kind.", id="no mapping"),
            pytest.param(
                "kind: Pod", "<stdin>:1: This is no Kubernetes object: it has no apiVersion.", id="untyped"
            ),
        ],
    )
    def test_what_is_no_object_is_refused_before_anything_is_sent(
        self, served: Serving, text: str, message: str
    ) -> None:
        run = on(served, "apply", "-f", "-", stdin=f"{text}\n")

        assert (run.status, run.out) == (2, "")
        assert run.err.startswith(message)

    def test_what_was_printed_can_be_applied(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=f"{POD}---{CONFIG}")
        printed = on(served, "get", "configmap", "settings", "-o", "yaml")

        assert on(served, "apply", "-f", "-", stdin=printed.out).out == "configmap/settings unchanged\n"


class TestGet:
    """Objects as the server would have them printed."""

    @pytest.fixture(autouse=True)
    def some(self, served: Serving) -> None:
        pods: list[dict[str, Any]] = [
            yaml.safe_load(POD.replace("web", name)) for name in ("web-1", "web-2", "db")
        ]
        pods[2]["metadata"]["namespace"] = "team"
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"topology/rack": "r1"}},
        }
        served.load([*pods, node])

    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            pytest.param(
                ("pods",),
                "NAME    READY   STATUS    RESTARTS   AGE\n"
                "web-1   0/1     Pending   0          0s\n"
                "web-2   0/1     Pending   0          0s\n",
                id="a table",
            ),
            pytest.param(
                ("po", "-l", "app=db", "-A"),
                "NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE\n"
                "team        db     0/1     Pending   0          0s\n",
                id="all namespaces, selected by label",
            ),
            pytest.param(
                ("pod/web-1",),
                "NAME    READY   STATUS    RESTARTS   AGE\nweb-1   0/1     Pending   0          0s\n",
                id="one by KIND/NAME",
            ),
            pytest.param(
                ("pods", "db", "-n", "team", "-o", "wide"),
                "NAME   READY   STATUS    RESTARTS   AGE   IP       NODE     NOMINATED NODE   READINESS GATES\n"
                "db     0/1     Pending   0          0s    <none>   <none>   <none>           <none>\n",
                id="one in a namespace, wide",
            ),
            pytest.param(
                ("nodes", "-L", "topology/rack,topology/zone"),
                "NAME   STATUS    ROLES    AGE   VERSION   RACK   ZONE\n"
                "n1     Unknown   <none>   0s              r1\n",
                id="labels in columns",
            ),
            pytest.param(
                ("nodes,pods",),
                "NAME      STATUS    ROLES    AGE   VERSION\n"
                "node/n1   Unknown   <none>   0s\n"
                "\n"
                "NAME        READY   STATUS    RESTARTS   AGE\n"
                "pod/web-1   0/1     Pending   0          0s\n"
                "pod/web-2   0/1     Pending   0          0s\n",
                id="several kinds",
            ),
            pytest.param(("pods", "-A", "-o", "name"), "pod/web-1\npod/web-2\npod/db\n", id="names"),
        ],
    )
    def test_what_is_shown(self, served: Serving, arguments: tuple[str, ...], shown: str) -> None:
        run = on(served, "get", *arguments)

        assert (run.status, run.err) == (0, "")
        assert re.sub(r"\b\d+s\b", "0s", run.out) == shown

    def test_yaml_and_json_are_the_objects(self, served: Serving) -> None:
        listed = on(served, "get", "pods", "-o", "yaml")
        one = on(served, "get", "pod", "web-1", "-o", "json")
        several = on(served, "get", "pods", "-o", "json")

        documents = list(yaml.safe_load_all(listed.out))
        assert [each["metadata"]["name"] for each in documents] == ["web-1", "web-2"]
        assert one.json() == documents[0]
        assert several.json()["items"] == documents
        assert "managedFields" not in listed.out

    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            pytest.param(
                ("pdos",),
                2,
                'KIND: The cluster (context closeknit) serves no kind "pdos". Did you mean "pods"? Allowed: ',
                id="a kind that is not served",
            ),
            pytest.param(
                ("pods", "web-3"),
                2,
                'NAME: There is no Pod "web-3" in namespace default. Did you mean "web-2"?\n',
                id="a name that nothing has, but one is near",
            ),
            pytest.param(
                ("pods", "zzz"),
                2,
                'NAME: There is no Pod "zzz" in namespace default. closeknit get pods -A lists those that are'
                " there.\n",
                id="a name that nothing has",
            ),
            pytest.param(
                ("pods", "-n", "taem"),
                2,
                '-n: There is no namespace "taem". Create it first, or name another one with -n.\n',
                id="a namespace that is not there",
            ),
            pytest.param(
                ("jobs",), 0, "There are no jobs.batch in namespace default.\n", id="none of a kind"
            ),
            pytest.param(
                ("pods", "-l", "a in"),
                2,
                "The cluster (context closeknit) refused: ",
                id="a selector that cannot be read",
            ),
        ],
    )
    def test_what_is_said_where_there_is_nothing(
        self, served: Serving, arguments: tuple[str, ...], status: int, message: str
    ) -> None:
        run = on(served, "get", *arguments)

        assert (run.status, run.out) == (status, "")
        assert run.err.startswith(message)

    @pytest.mark.parametrize(
        ("output", "shown"),
        [
            ("table", ["NAME", "web-1", "web-2", "late", "late"]),
            ("name", ["pod/web-1", "pod/web-2", "pod/late", "pod/late"]),
        ],
    )
    def test_a_watch_goes_on_with_every_change(self, served: Serving, output: str, shown: list[str]) -> None:
        program = "from closeknit.cli import main; main()"
        command = [sys.executable, "-c", program, "get", "pods", "-w", "-o", output, "--kubeconfig"]
        seen: list[str] = []
        with subprocess.Popen(
            [*command, str(served.kubeconfig)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            while len(seen) < len(shown) - 2:
                seen.append(process.stdout.readline().split()[0])
            served.load([yaml.safe_load(POD.replace("web", "late"))])
            patch = MergePatch({"metadata": {"labels": {"changed": "yes"}}})
            served.ask(lambda one: one.patch(PODS, "late", patch, namespace="default"))
            while len(seen) < len(shown):
                seen.append(process.stdout.readline().split()[0])
            process.send_signal(signal.SIGINT)

            assert process.wait() == 130
        assert seen == shown


def eventually(read: Callable[[], str], wanted: str) -> str:
    """What is read as soon as it is as wanted; else, after a while, whatever it is."""
    for _ in range(100):
        if (found := read()) == wanted:
            return found
        time.sleep(0.05)
    return read()


class TestDescribe:
    """One object as indented text."""

    def test_it_tells_all_with_the_events_at_the_end(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=POD)
        uid = on(served, "get", "pod", "web", "-o", "json").json()["metadata"]["uid"]
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web", "uid": uid},
            "reason": "Unschedulable",
            "message": "No rack has room.",
            "type": "Warning",
            "count": 3,
            "reportingComponent": "closeknit",
            "lastTimestamp": "2026-01-01T00:00:00Z",
        }
        served.ask(lambda one: one.create(CORE_EVENTS, event))

        run = on(served, "describe", "pod", "web")

        assert run.status == 0
        assert run.out.startswith(
            "Name:        web\nNamespace:   default\nKind:        Pod (v1)\nCreated:     "
        )
        assert "Labels:\n  app: web\nSpec:\n  containers:\n  - name: main\n    image: busybox\n" in run.out
        first, second = run.out.splitlines()[-2:]
        assert first.split() == ["LAST", "SEEN", "TYPE", "REASON", "FROM", "MESSAGE"]
        assert re.fullmatch(r"  \d+d \(x3\) +Warning +Unschedulable +closeknit +No rack has room\.", second)

    def test_a_name_that_nothing_has(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=POD)

        run = on(served, "describe", "pod", "wbe")

        assert plain(run) == (
            2,
            "",
            'NAME: There is no Pod "wbe" in namespace default. Did you mean "web"?\n',
        )

    def test_secrets_are_not_shown_and_nothing_drives_the_terminal(self) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s\x1b[31m", "ownerReferences": [{"kind": "Job", "name": "j"}]},
            "data": {"key": "aGVsbG8="},
            "status": {
                "phase": "a\x1bb",
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "False",
                        "reason": "Late",
                        "message": "Not\x1b yet",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
            },
        }

        text = "".join(described(secret, [], datetime(2026, 1, 1, 0, 5, tzinfo=UTC)))

        assert "aGVsbG8" not in text
        assert "\x1b" not in text
        assert text == (
            "Name:       s\\x1b[31m\n"
            "Kind:       Secret (v1)\n"
            "Owned by:   Job/j\n"
            "Data:\n"
            '  key: "8 characters"\n'
            "Status:\n"
            '  phase: "a\\eb"\n'
            "Conditions:\n"
            "  TYPE    STATUS   AGE   REASON   MESSAGE\n"
            "  Ready   False    5m    Late     Not\\x1b yet\n"
            "Events: none\n"
        )


class TestDelete:
    """Objects go, by name or by file."""

    def test_by_name_and_all_that_is_wrong_is_told(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=f"{POD}---{CONFIG}")

        run = on(served, "delete", "cm", "settings", "settinsg")

        assert plain(run) == (
            2,
            'configmap "settings" deleted\n',
            'NAME: There is no ConfigMap "settinsg" in namespace default. closeknit get configmaps -A lists'
            " those that are there.\n",
        )

    def test_by_file(self, served: Serving, tmp_path: Path) -> None:
        file = tmp_path / "f.yaml"
        file.write_text(f"{CONFIG}---{POD}")
        on(served, "apply", "-f", str(file))

        first = on(served, "delete", "-f", str(file), "--wait")
        again = on(served, "delete", "-f", str(file))

        assert plain(first) == (0, 'configmap "settings" deleted\npod "web" deleted\n', "")
        assert again.status == 2
        assert again.err.splitlines()[1].startswith(
            f'{file}:2:Pod web: metadata.name: There is no Pod "web" in namespace default.'
        )

    @pytest.mark.parametrize(("cascade", "left"), [("background", ""), ("orphan", "pod/web\n")])
    def test_what_it_owns(self, served: Serving, cascade: str, left: str) -> None:
        on(served, "apply", "-f", "-", stdin=CONFIG)
        uid = on(served, "get", "cm", "settings", "-o", "json").json()["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": uid}
        pod = yaml.safe_load(POD)
        pod["metadata"]["ownerReferences"] = [owner]
        served.load([pod])

        run = on(served, "delete", "cm/settings", "--cascade", cascade, "--wait")

        assert run.status == 0
        assert eventually(lambda: on(served, "get", "pods", "-o", "name").out, left) == left

    def test_what_stays_after_the_time_is_told_with_who_holds_it(self, served: Serving) -> None:
        config = yaml.safe_load(CONFIG)
        config["metadata"]["finalizers"] = ["example.com/hold"]
        served.load([config])

        run = on(served, "delete", "cm", "settings", "--wait", "--timeout", "1")

        assert plain(run) == (
            1,
            "",
            "ConfigMap settings: It is still there after 1 s, held by example.com/hold. Its controller or node"
            " has not let it go yet.\n",
        )

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "Nothing is named to delete. Name a KIND and a NAME, or files with -f.\n"),
            (("pod",), "Nothing is named to delete. Name a KIND and a NAME, or files with -f.\n"),
            (("pod", "a", "-f", "x"), "Both a kind and files are named. Give one of them.\n"),
        ],
        ids=["nothing", "a kind without a name", "a kind and files"],
    )
    def test_wrong_usage(self, arguments: tuple[str, ...], message: str) -> None:
        assert plain(Run("delete", *arguments)) == (2, "", message)


KUEUE = Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False)
KAI = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False, short_names=("kt",))
SERVED = (
    PODS,
    NODES,
    CORE_EVENTS,
    EVENTS,
    JOBS,
    KAI,
    Resource("kai.scheduler", "v1", "topologies", "Topology"),
    KUEUE,
)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param("pods", [PODS], id="plural"),
        pytest.param("Pod", [PODS], id="kind"),
        pytest.param("po", [PODS], id="short name"),
        pytest.param("jobs.batch", [JOBS], id="with its group"),
        pytest.param("job.v1.batch", [JOBS], id="with its version and group"),
        pytest.param("events", [CORE_EVENTS], id="the core group wins"),
        pytest.param("events.events.k8s.io", [EVENTS], id="unless the other is named"),
        pytest.param("topologies", [KAI, KUEUE], id="all groups, each in its preferred version"),
        pytest.param("pod,kt,pods", [PODS, KAI], id="several, each once"),
        pytest.param("all", [PODS, JOBS], id="a category"),
    ],
)
def test_kinds_as_people_type_them(words: str, meant: list[Resource]) -> None:
    assert resources_named(words, SERVED, "the cluster") == meant


def test_where_one_is_needed_two_are_refused() -> None:
    with pytest.raises(
        InvalidError, match=r"could be 2 kinds\. Name one of them: topologies\.kai\.scheduler, topo"
    ):
        resource_named("topology", SERVED, "the cluster")


def test_every_unknown_kind_is_told() -> None:
    with pytest.raises(InvalidError) as caught:
        resources_named("pdos,nodse", SERVED, "the cluster")

    assert len(caught.value.problems) == 2


def test_cells_are_one_line_and_widths_stay() -> None:
    printer = TablePrinter(
        [Column("Name"), Column("Message"), Column("IP", priority=1)], wide=False, namespaces=False
    )

    first = list(printer.lines([Row(["long-name", "two\nlines", "x"])]))
    later = list(printer.lines([Row(["b", None, "x"]), Row(["c\x1b", True, "x"])], header=False))

    assert first == ["NAME        MESSAGE\n", "long-name   two...\n"]
    assert later == ["b\n", "c\\x1b       true\n"]


@pytest.mark.parametrize("command", ["apply", "get", "describe", "delete"])
def test_help_shows_an_example(command: str) -> None:
    assert f"Examples:\n    closeknit {command} " in Run(command, "--help").out
