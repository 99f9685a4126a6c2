"""``closeknit delete``, against an embedded cluster over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from closeknit.hub.problems import Code
from closeknit.hub.sentences import cli
from tests.kit.problems import line, text
from tests.serving import Serving
from tests.unit.cli.running import CONFIG, POD, Run, on, plain

REMEDY = " closeknit get {} -A lists those that are there."
"""What is proposed where no object has a similar name; the placeholder is the plural of the kind."""


def eventually(read: Callable[[], str], wanted: str) -> str:
    """What is read as soon as it is as wanted; else, after a while, whatever it is."""
    for _ in range(100):
        if (found := read()) == wanted:
            return found
        time.sleep(0.05)
    return read()


class TestDelete:
    """Objects go, by name or by file."""

    def test_by_name_and_all_that_is_wrong_is_told(self, served: Serving) -> None:
        on(served, "apply", "-f", "-", stdin=f"{POD}---{CONFIG}")

        run = on(served, "delete", "cm", "settings", "settinsg")

        missing = line(
            cli.NO_SUCH_OBJECT,
            "NAME",
            kind="ConfigMap",
            name="settinsg",
            place="namespace default",
            remedy=REMEDY.format("configmaps"),
        )
        assert plain(run) == (2, 'configmap "settings" deleted\n', f"{missing}\n")

    def test_by_file(self, served: Serving, tmp_path: Path) -> None:
        file = tmp_path / "f.yaml"
        file.write_text(f"{CONFIG}---{POD}")
        on(served, "apply", "-f", str(file))

        first = on(served, "delete", "-f", str(file), "--wait")
        again = on(served, "delete", "-f", str(file))

        assert plain(first) == (0, 'configmap "settings" deleted\npod "web" deleted\n', "")
        assert again.status == 2
        assert again.err.splitlines()[1] == line(
            cli.NO_SUCH_OBJECT,
            f"{file}:2:Pod web: metadata.name",
            kind="Pod",
            name="web",
            place="namespace default",
            remedy=REMEDY.format("pods"),
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

        waited = line(
            cli.STILL_THERE, "ConfigMap settings", seconds=1, finalizers=", held by example.com/hold"
        )
        assert plain(run) == (1, "", f"{waited}\n")

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((), cli.NOTHING_TO_DELETE),
            (("pod",), cli.NOTHING_TO_DELETE),
            (("pod", "a", "-f", "x"), cli.KIND_AND_FILES),
        ],
        ids=["nothing", "a kind without a name", "a kind and files"],
    )
    def test_wrong_usage(self, arguments: tuple[str, ...], code: Code) -> None:
        assert plain(Run("delete", *arguments)) == (2, "", f"{text(code)}\n")
