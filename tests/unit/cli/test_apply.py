"""``closeknit apply``, against an embedded cluster over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from closeknit.hub.problems import Code
from closeknit.hub.sentences import cli, kube
from closeknit.kube.port import ApplyPatch
from closeknit.kube.resources import CONFIG_MAPS
from tests.kit.problems import line, text
from tests.serving import Serving
from tests.unit.cli.running import CONFIG, POD, Run, on, plain

EXAMPLES = Path(__file__).parents[3] / "examples"


def unserved(where: str, kind: str, version: str, remedy: str) -> str:
    """The line about an object of a kind that the cluster does not serve."""
    facts = {"cluster": "The cluster (context closeknit)", "kind": kind, "version": version}
    return line(cli.UNSERVED_VERSION, f"{where}: apiVersion", **facts, remedy=remedy)


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
        lines = [problem.removeprefix(f"{file}:") for problem in run.err.splitlines()]
        assert [problem for problem in lines if problem.startswith("1:Pod web: spec.containers[0].")][1:]
        assert lines[-6:] == [
            unserved(
                "3:Pool p",
                "Pool",
                "osmo.closeknit.dev/v1alpha1",
                "Install it first: closeknit crds --family osmo | closeknit apply -f -",
            ),
            unserved(
                "4:Topology t",
                "Topology",
                "kai.scheduler/v7",
                "It serves kai.scheduler/v1, kai.scheduler/v1alpha1; write that instead.",
            ),
            unserved(
                "5:Widget w",
                "Widget",
                "example.com/v1",
                "Install the definition of the kind first, or correct apiVersion and kind.",
            ),
            unserved("6:Pdo w", "Pdo", "v1", "Did you mean Pod?"),
            line(kube.UNNAMED_OBJECT, "7:metadata.name"),
            line(cli.NO_NAMESPACE_OF_OBJECT, "8:Pod web: metadata.namespace", namespace="taem"),
        ]

    def test_a_namespace_of_the_command_line_that_is_not_there(self, served: Serving) -> None:
        run = on(served, "apply", "-n", "taem", "-f", "-", stdin=CONFIG)

        missing = line(cli.NO_SUCH_NAMESPACE, "<stdin>:1:ConfigMap settings", namespace="taem")
        assert plain(run) == (2, "", f"{missing}\n")

    def test_fields_of_others_are_taken_over_only_when_told(self, served: Serving) -> None:
        body = yaml.safe_load(CONFIG.replace("fast", "slow"))
        served.ask(
            lambda one: one.patch(CONFIG_MAPS, "settings", ApplyPatch(body, "other"), namespace="default")
        )

        refused = on(served, "apply", "-f", "-", stdin=CONFIG)
        forced = on(served, "apply", "--force-conflicts", "-f", "-", stdin=CONFIG)

        # The message of the API server is passed on, in the words of Kubernetes.
        conflict = 'Apply failed with 1 conflict: conflict with "other": .data.mode.'
        expected = line(cli.FIELDS_OF_OTHERS, "<stdin>:1:ConfigMap settings", message=conflict)
        assert plain(refused) == (2, "", f"{expected}\n")
        assert plain(forced) == (0, "configmap/settings configured\n", "")

    @pytest.mark.parametrize(
        ("manifest", "where", "code"),
        [
            pytest.param("a: [", "<stdin>:1:line", None, id="no YAML"),
            pytest.param("- 1", "<stdin>:1: ", cli.NO_KUBERNETES_OBJECT, id="no mapping"),
            pytest.param("kind: Pod", "<stdin>:1: ", cli.NO_API_VERSION, id="untyped"),
        ],
    )
    def test_what_is_no_object_is_refused_before_anything_is_sent(
        self, served: Serving, manifest: str, where: str, code: Code | None
    ) -> None:
        run = on(served, "apply", "-f", "-", stdin=f"{manifest}\n")

        assert (run.status, run.out) == (2, "")
        assert run.err.startswith(where + (text(code) if code is not None else ""))

    def test_what_was_printed_can_be_applied(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=f"{POD}---{CONFIG}")
        printed = on(served, "get", "configmap", "settings", "-o", "yaml")

        assert on(served, "apply", "-f", "-", stdin=printed.out).out == "configmap/settings unchanged\n"
