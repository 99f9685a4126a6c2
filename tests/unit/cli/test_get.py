"""``closeknit get``, against an embedded cluster over HTTP."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from closeknit.cli.tables import TablePrinter
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import PODS
from closeknit.kube.rest.tables import Column, Row
from tests.kit.problems import line, text
from tests.serving import Serving
from tests.unit.cli.running import POD, on

CLUSTER = "The cluster (context closeknit)"
UNPARSED = """unable to parse requirement of label selector "a in": expected: '('"""
"""What the API server says of a selector, in the words of Kubernetes."""


def missing_pod(name: str, remedy: str) -> str:
    """The line about a pod that is not there."""
    facts = {"kind": "Pod", "name": name, "place": "namespace default"}
    return line(cli.NO_SUCH_OBJECT, "NAME", **facts, remedy=remedy)


def unknown_kind(served: Serving) -> list[str]:
    """The line about a kind that the cluster does not serve, which proposes those that it serves."""

    async def names(cluster: Any) -> list[str]:
        resources = await cluster.resources()
        return [name for resource in resources for name in (resource.plural, resource.kind.lower())]

    # Over HTTP, Bindings are listed as well, which are only created.
    remedy = OneOf.among("pdos", [*served.ask(names), "binding", "bindings"])
    return [line(cli.UNKNOWN_RESOURCE, "KIND", cluster=CLUSTER, kind="pdos", remedy=remedy), '"pods"']


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
        ("arguments", "status", "parts"),
        [
            pytest.param(("pdos",), 2, unknown_kind, id="a kind that is not served"),
            pytest.param(
                ("pods", "web-3"),
                2,
                [missing_pod("web-3", ' Did you mean "web-2"?')],
                id="a name that nothing has, but one is near",
            ),
            pytest.param(
                ("pods", "zzz"),
                2,
                [missing_pod("zzz", " closeknit get pods -A lists those that are there.")],
                id="a name that nothing has",
            ),
            pytest.param(
                ("pods", "-n", "taem"),
                2,
                [line(cli.NO_SUCH_NAMESPACE, "-n", namespace="taem")],
                id="a namespace that is not there",
            ),
            pytest.param(("jobs",), 0, ["jobs.batch", "namespace default"], id="none of a kind"),
            pytest.param(
                ("pods", "-l", "a in"),
                2,
                [text(cli.CLUSTER_REFUSED, cluster=CLUSTER, reason=UNPARSED)],
                id="a selector that cannot be read",
            ),
        ],
    )
    def test_what_is_said_where_there_is_nothing(
        self,
        served: Serving,
        arguments: tuple[str, ...],
        status: int,
        parts: list[str] | Callable[[Serving], list[str]],
    ) -> None:
        run = on(served, "get", *arguments)

        assert (run.status, run.out) == (status, "")
        (message,) = run.err.splitlines()
        for part in parts(served) if callable(parts) else parts:
            assert part in message

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


def test_cells_are_one_line_and_widths_stay() -> None:
    printer = TablePrinter(
        [Column("Name"), Column("Message"), Column("IP", priority=1)], wide=False, namespaces=False
    )

    first = list(printer.lines([Row(["long-name", "two\nlines", "x"])]))
    later = list(printer.lines([Row(["b", None, "x"]), Row(["c\x1b", True, "x"])], header=False))

    assert first == ["NAME        MESSAGE\n", "long-name   two...\n"]
    assert later == ["b\n", "c\\x1b       true\n"]
