"""``closeknit crds``: the custom resource definitions, by family."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from closeknit.cli import manifests, options
from closeknit.dialects.definitions import FAMILIES

Family = Enum("Family", {name: name for name in FAMILIES})  # type: ignore[misc]


def crds(
    *,
    family: Annotated[
        list[Family] | None,
        typer.Option(
            "--family", metavar="|".join(FAMILIES), help="Only the kinds of this family. May repeat."
        ),
    ] = None,
    output: Annotated[options.Manifests, typer.Option("-o", "--output", help="How to print them.")] = (
        options.Manifests.YAML
    ),
) -> None:
    """Print custom resource definitions, by family.

    There is one for every kind that Closeknit reads or writes. Install only those of families whose own
    operator does not run in the cluster: where it does, it has brought its own.
    """
    chosen = dict.fromkeys(one.value for one in family or Family)
    definitions = [definition.written() for name in chosen for definition in FAMILIES[name]]
    write = manifests.as_yaml if output is options.Manifests.YAML else manifests.as_json
    sys.stdout.writelines(write(definitions))
