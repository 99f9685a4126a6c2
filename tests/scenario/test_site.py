"""The documentation as a site: no dead link, nothing from elsewhere, and nothing that the code does not say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.__main__ import write
from docs.site.links import relinked
from docs.site.menu import menu
from docs.site.reference import generated

PAGES = {"README.md": "index.md", "docs/a/one.md": "a/one.md", "docs/b/README.md": "b/README.md"}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param("[x](docs/a/one.md#part)", "[x](a/one.md#part)", id="to a page, with its anchor"),
        pytest.param("[x](docs/b/)", "[x](b/README.md)", id="to a folder with a first page"),
        pytest.param("[`x`](src/x.py)", "`x`", id="to a source, which has no page: plain text"),
        pytest.param("[x](gone.md)", "[x](gone.md)", id="to nothing: left for the generator to complain"),
        pytest.param("[x](#part)", "[x](#part)", id="within the page"),
        pytest.param("[x](https://example.com/)", "[x](https://example.com/)", id="to elsewhere"),
        pytest.param("```\n[x](docs/a/one.md)\n```", "```\n[x](docs/a/one.md)\n```", id="in a block of code"),
    ],
)
def test_a_link_of_the_repository_works_in_the_site(given: str, want: str) -> None:
    assert relinked(given, "README.md", "index.md", PAGES, exists=lambda file: file == "src/x.py") == want


def test_every_page_is_in_the_menu_once() -> None:
    pages = ["index.md", "how-to/b.md", "how-to/install.md", "reference/definitions/x.md", "other.md"]

    assert menu(pages) == [
        "index.md",
        {"How to": ["how-to/install.md", "how-to/b.md"]},
        {"Reference": [{"Definitions": ["reference/definitions/x.md"]}]},
        "other.md",
    ]


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("reference/cli.md", "## plan"),
        ("reference/metrics.md", "`closeknit_bindings_total`"),
        ("reference/metrics.md", "`closeknit_controller_writes_total`"),
        ("reference/metrics.md", "`closeknit_admission_answers_total`"),
        ("reference/rest.md", "## GET /api/v1/workloads"),
        ("reference/definitions/grove.md", "`spec.template.cliques[].topologyConstraint.packDomain`"),
    ],
)
def test_the_reference_is_made_from_code(page: str, says: str) -> None:
    assert says in generated()[page]


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "docs")
    settings = str(tmp_path / "docs" / "mkdocs.yml")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", settings],
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stdout + built.stderr
    pages = {path.relative_to(tmp_path / "docs/site"): path.read_text() for path in tmp_path.rglob("*.html")}
    assert {Path("index.html"), Path("tutorial/first-plan.html"), Path("reference/cli.html")} <= set(pages)
    loaded = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"?(https?:)?//")
    assert [str(name) for name, text in pages.items() if loaded.search(text)] == []
