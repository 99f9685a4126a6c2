"""What commands do not do because it would only take time: counted, because time itself depends on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COUNTED = """
import atexit, gc, sys
from closeknit.cli import main
whole = [0]
gc.callbacks.append(lambda phase, found: whole.append(phase == "start" and found["generation"] == 2))
atexit.register(lambda: print(sum(whole), file=sys.stderr))
main()
"""


def test_a_large_file_is_read_without_looking_through_everything_again_and_again(tmp_path: Path) -> None:
    tasks = [{"name": f"t{i}", "resource": f"r{i}"} for i in range(10_000)]
    file = tmp_path / "workflow.json"
    resources: dict[str, object] = {f"r{i}": {"gpu": 1} for i in range(10_000)}
    file.write_text(json.dumps({"workflow": {"name": "w", "tasks": tasks, "resources": resources}}))

    run = subprocess.run(
        [sys.executable, "-c", COUNTED, "translate", "-f", str(file), "--to", "kai"],
        capture_output=True,
        text=True,
        check=True,
    )

    # While modules load, and once more at the very end, Python looks through everything by itself.
    assert int(run.stderr.splitlines()[-1]) <= 2


def test_the_engine_is_loaded_by_those_who_place_something() -> None:
    told = "import sys, closeknit.cli.app; print('numpy' in sys.modules); closeknit.solve; print('numpy' in sys.modules)"

    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["False", "True"]
