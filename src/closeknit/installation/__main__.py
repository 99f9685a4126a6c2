"""Writes what follows from the code into the Helm chart, and the page of all privileges.

``python -m closeknit.installation CHART [PAGE]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from closeknit.installation.chart import generated
from closeknit.installation.privileges import page


def _main(chart: Path, pages: list[Path]) -> None:
    for name, content in generated().items():
        file = chart / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    for each in pages:
        each.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
