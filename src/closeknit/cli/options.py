"""Options that several commands share."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

Files = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--file",
        metavar="PATH",
        help="A file, a directory (its .yaml, .yml and .json files) or - for standard input. May repeat.",
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Pass over unknown fields instead of reporting them as problems.")
]


class Picture(Enum):
    """Output of commands that can draw."""

    TEXT = "text"
    JSON = "json"
    SVG = "svg"


class Text(Enum):
    """Output of commands that only tell."""

    TEXT = "text"
    JSON = "json"


class Manifests(Enum):
    """Output of commands that print manifests."""

    YAML = "yaml"
    JSON = "json"
