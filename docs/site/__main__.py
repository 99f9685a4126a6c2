"""Write the pages of the site and its settings into a folder, from which a generator makes HTML.

``python -m docs.site build/docs``: pages under ``docs``, those that stand outside it, and those that are made
from code, with links that work among them. Any generator that reads mkdocs' settings can go on from there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import yaml

from docs.site.links import relinked
from docs.site.menu import menu
from docs.site.reference import generated

ROOT = Path(__file__).parents[2]
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
"""Files outside ``docs`` that are pages too."""


def write(target: Path) -> None:
    """Write everything into a folder that is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    docs = sorted((ROOT / "docs").rglob("*.md"))
    places = {str(path.relative_to(ROOT)): str(path.relative_to(ROOT / "docs")) for path in docs} | OUTSIDE
    made = generated()
    pictures = sorted((ROOT / "docs" / "images").iterdir())
    known = (
        places
        | {f"docs/{page}": page for page in made}
        | {f"docs/images/{each.name}": f"images/{each.name}" for each in pictures}
    )
    for origin, page in places.items():
        text = (ROOT / origin).read_text(encoding="utf-8")
        made[page] = relinked(text, origin, page, known, exists=lambda file: (ROOT / file).exists())
    for page, text in made.items():
        path = target / "pages" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", target / "pages" / "images")
    settings = yaml.safe_load((ROOT / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["nav"] = menu(made)
    (target / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
