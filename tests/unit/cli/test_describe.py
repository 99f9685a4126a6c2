"""``closeknit describe``, against an embedded cluster over HTTP."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from closeknit.cli.describe import described
from closeknit.hub.sentences import cli
from closeknit.kube.resources import CORE_EVENTS
from tests.kit.problems import line
from tests.serving import Serving
from tests.unit.cli.running import POD, on, plain


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

        missing = line(
            cli.NO_SUCH_OBJECT,
            "NAME",
            kind="Pod",
            name="wbe",
            place="namespace default",
            remedy=' Did you mean "web"?',
        )
        assert plain(run) == (2, "", f"{missing}\n")

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

    def test_annotations_are_written_as_they_are_and_long_ones_are_cut(self) -> None:
        outcome = json.dumps({"status": "unplaceable", "shortfalls": ["x" * 1000]}, separators=(",", ":"))
        annotated = {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {
                "name": "g",
                "annotations": {
                    "closeknit.dev/outcome": outcome,
                    "closeknit.dev/pod-resources": '{"nvidia.com/gpu": "8"}',
                    "told": "two\nlines\x1b",
                    "longest": "y" * 140,
                },
            },
        }

        text = "".join(described(annotated, [], datetime(2026, 1, 1, tzinfo=UTC)))

        assert text.partition("Annotations:\n")[2] == (
            f"  closeknit.dev/outcome: {outcome[:140]}... (1,042 characters)\n"
            '  closeknit.dev/pod-resources: {"nvidia.com/gpu": "8"}\n'
            "  told: two\\nlines\\x1b\n"
            f"  longest: {'y' * 140}\n"
            "Events: none\n"
        )
