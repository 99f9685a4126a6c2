"""Short ways to look at what is written for a workflow."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.dialects.osmo.kit import workflow

ROOT = Path(__file__).resolve().parents[4]


EXAMPLES = ROOT / "examples" / "osmo"


def example(*names: str) -> list[str]:
    return [(EXAMPLES / name).read_text(encoding="utf-8") for name in names]


def carried(priority: str, name: str = "w") -> str:
    metadata = {"name": name, "labels": {"osmo.priority": priority}}
    spec = json.loads(workflow(["a"], name=name))
    return json.dumps(
        {"apiVersion": "osmo.closeknit.dev/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}
    )
