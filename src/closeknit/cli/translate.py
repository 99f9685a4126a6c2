"""``closeknit translate``: the objects that a dialect's rules produce."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from closeknit import dialects
from closeknit.cli import loading, manifests, options
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid

Target = Enum("Target", {name: name for name in dialects.TARGETS})  # type: ignore[misc]


def translate(
    files: options.Files,
    to: Annotated[Target, typer.Option("--to", help="What the objects are for.")],
    *,
    output: Annotated[options.Manifests, typer.Option("-o", "--output", help="How to print them.")] = (
        options.Manifests.YAML
    ),
    lenient: options.Lenient = False,
) -> None:
    """Print the objects that each workload becomes, in today's spelling.

    A family's own rules come first: what its operator would create. Where it has none for the
    target, the workload is said over again in the target's words.
    """
    with refusing_invalid():
        sources = list(loading.sources_of(files))
        translation = dialects.translate(sources, to.value, lenient=lenient)
    complain(translation.problems)
    write = manifests.as_yaml if output is options.Manifests.YAML else manifests.as_json
    sys.stdout.writelines(write(translation.objects))
    finish(ExitStatus.INVALID if translation.problems else ExitStatus.DONE)
