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
Context = Annotated[
    str,
    typer.Option(
        "--context", metavar="NAME", help="A cluster, by the name of its context in the kubeconfig."
    ),
]
Kubeconfig = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="The kubeconfig. Left out: that of $KUBECONFIG, or ~/.kube/config.",
    ),
]
Namespace = Annotated[
    str,
    typer.Option("-n", "--namespace", metavar="NAME", help="Left out: the namespace of the context."),
]
TopologyName = Annotated[
    str | None, typer.Option("--topology", metavar="NAME", help="Show this topology only.")
]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A value for templates of OSMO workflows, before what their default-values say. May repeat.",
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Pass over unknown fields and names, and tell them as notes.")
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
