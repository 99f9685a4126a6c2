"""``closeknit apply``, against an embedded cluster over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from closeknit.kube.port import ApplyPatch
from closeknit.kube.resources import CONFIG_MAPS
from tests.serving import Serving
from tests.unit.cli.running import CONFIG, POD, Run, on, plain

EXAMPLES = Path(__file__).parents[3] / "examples"


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
            "7:metadata.name: The object has no name. Write one, as a string; generateName is not enough.",
            '8:Pod web: metadata.namespace: There is no namespace "taem". Create it first, or write another one'
            " here; -n counts only where an object names none.",
        ]

    def test_a_namespace_of_the_command_line_that_is_not_there(self, served: Serving) -> None:
        run = on(served, "apply", "-n", "taem", "-f", "-", stdin=CONFIG)

        told = '<stdin>:1:ConfigMap settings: There is no namespace "taem".'
        assert plain(run) == (2, "", f"{told} Create it first, or name another one with -n.\n")

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
            pytest.param("a: [", "<stdin>:1:line", id="no YAML"),
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
