"""Writes what follows from the code into the Helm chart: ``python -m closeknit.installation CHART``."""

from __future__ import annotations

import sys
from pathlib import Path

from closeknit.installation.chart import generated


def _main(chart: Path) -> None:
    for name, content in generated().items():
        file = chart / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
