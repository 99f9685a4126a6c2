"""Fill in the templates among the files that a command reads, at a bounded cost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from closeknit.cli import template_process
from closeknit.dialects import Filled, Source, Template, Value, filled, templates_in, value_of
from closeknit.hub.copying import replace
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences
from closeknit.text.documents import LARGEST

_PROGRAM = Path(template_process.__file__)
_PATIENCE = 600
"""Seconds after which a process that neither ends nor uses its time is stopped."""


def values_of(settings: Sequence[str]) -> dict[str, Value]:
    """What ``--set key=value`` says, as often as it is given; raises ``InvalidError``."""
    wrong = [each for each in settings if "=" not in each or each.startswith("=")]
    if wrong:
        code, option = sentences.NOT_A_SETTING, (Verbatim("--set"),)
        raise InvalidError([code.at(option, setting=each) for each in wrong])
    pairs = (each.partition("=") for each in settings)
    return {name: value_of(text) for name, _, text in pairs}


def with_templates_filled(sources: Sequence[Source], values: Mapping[str, Value]) -> list[Source]:
    """The same files, where templates are filled in; what is to be told of them goes with each file."""
    texts = [_text(source) for source in sources]
    found = [tuple(templates_in(text)) for text in texts]
    outcomes = _rendered([template for each in found for template in each], values)
    return [
        _with(source, text, [(template, next(outcomes)) for template in templates]) if templates else source
        for source, text, templates in zip(sources, texts, found, strict=True)
    ]


def _with(source: Source, text: str, outcomes: Sequence[tuple[Template, Filled]]) -> Source:
    content, told = filled(text, outcomes)
    return replace(source, content=content.encode(), told=told)


def _text(source: Source) -> str:
    """The text of a file that may hold a template; empty for all others, which is most of them."""
    if len(source.content) > LARGEST:
        # Only the beginning was read, and whoever parses it refuses it.
        return ""
    if b"workflow:" not in source.content or not any(
        mark in source.content for mark in (b"{{", b"{%", b"{#")
    ):
        return ""
    try:
        return source.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Whoever parses it says where.
        return ""


def _rendered(templates: Sequence[Template], values: Mapping[str, Value]) -> Iterator[Filled]:
    """What comes of each. A template that costs too much ends the process; the rest get another one."""
    done = 0
    while done < len(templates):
        answers = _answers(templates[done:], values)
        for answer in answers:
            missing = tuple(answer.get("missing", ()))
            yield Filled(answer.get("text", ""), missing, answer.get("error", ""), answer.get("line", 0))
        done += len(answers)
        if done < len(templates):
            seconds, mib = template_process.SECONDS, template_process.MEMORY // 2**20
            yield Filled(error=f"it takes more than {seconds} seconds or {mib} MiB.")
            done += 1


def _answers(templates: Sequence[Template], values: Mapping[str, Value]) -> list[dict[str, Any]]:
    asked = [
        {"text": each.text, "defaults": each.defaults, "values": {**values, **each.tokens}}
        for each in templates
    ]
    command = (sys.executable, "-I", str(_PROGRAM))
    try:
        ended = subprocess.run(  # noqa: S603 (our own program; templates go to its standard input)
            command, input=json.dumps(asked).encode(), capture_output=True, timeout=_PATIENCE, check=False
        )
        written = ended.stdout
    except subprocess.TimeoutExpired as error:
        written = error.stdout or b""
    # A line that is not whole was cut off by the end.
    return [json.loads(line) for line in written.split(b"\n")[:-1]]
