"""Structured log lines on standard error: JSON where a program reads them, words where a person does."""

from __future__ import annotations

import sys
from enum import StrEnum

import structlog

from closeknit.live.log import Log


class LogFormat(StrEnum):
    """How log lines are written."""

    TEXT = "text"
    JSON = "json"


def logger(form: LogFormat | None) -> Log:
    """A logger in this form; left out, by who reads standard error."""
    person = sys.stderr.isatty() if form is None else form is LogFormat.TEXT
    shown: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if person
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    made: Log = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            shown,
        ],
    )
    return made
