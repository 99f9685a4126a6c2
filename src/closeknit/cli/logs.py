"""Structured log lines on standard error: JSON where a program reads them, words where a person does."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Any

import msgspec
import structlog

from closeknit.live.log import Log


class LogFormat(StrEnum):
    """How log lines are written."""

    TEXT = "text"
    JSON = "json"


def logger(form: LogFormat | None) -> Log:
    """A logger in this form; left out, by who reads standard error."""
    person = sys.stderr.isatty() if form is None else form is LogFormat.TEXT
    output = structlog.PrintLogger(sys.stderr) if person else structlog.BytesLogger(sys.stderr.buffer)
    shown: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if person
        else structlog.processors.JSONRenderer(serializer=_encoded)
    )
    made: Log = structlog.wrap_logger(
        output,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            shown,
        ],
        cache_logger_on_first_use=True,
    )
    return made


def _encoded(facts: dict[str, Any], **_: Any) -> bytes:
    """A line; there are two for every gang, so it matters how long one takes."""
    try:
        return _encode(facts)
    except UnicodeEncodeError:
        # A text with bytes that are none, such as the name of a file: they are written as escapes.
        return json.dumps(facts, default=repr).encode()


_encode = msgspec.json.Encoder(enc_hook=repr).encode
