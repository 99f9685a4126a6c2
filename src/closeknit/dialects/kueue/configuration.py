"""Kueue's configuration file: what it says of ``waitForPodsReady``, and what cannot be heeded of that."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.config_kueue_x_k8s_io_v1beta2 import Configuration
from closeknit.dialects.core.durations import duration_problems
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences

_PATH: Path = ("waitForPodsReady",)
_AGAIN: Path = (*_PATH, "requeuingStrategy")
_TIMESTAMPS = ("Creation", "Eviction")


def configuration_problems(stored: Stored[Configuration], view: View) -> Iterator[Problem]:
    """Everything that is wrong with a configuration."""
    if next(iter(view.of(Configuration))).key != stored.key:
        yield sentences.SECOND_CONFIGURATION.at(())
    asked = stored.content.wait_for_pods_ready
    for field, value in (("timeout", asked.timeout), ("recoveryTimeout", asked.recovery_timeout or "")):
        if value:
            yield from duration_problems((*_PATH, field), value)
    if asked.block_admission:
        yield sentences.BLOCKS_ADMISSION.at((*_PATH, "blockAdmission"))
    again = asked.requeuing_strategy
    if again.timestamp not in _TIMESTAMPS:
        remedy = OneOf(again.timestamp, _TIMESTAMPS)
        yield core.UNKNOWN_CHOICE.at((*_AGAIN, "timestamp"), value=again.timestamp, remedy=remedy)
    numbers = (
        ("backoffLimitCount", again.backoff_limit_count),
        ("backoffBaseSeconds", again.backoff_base_seconds),
        ("backoffMaxSeconds", again.backoff_max_seconds),
    )
    for field, number in numbers:
        if number is not None and number < 0:
            yield sentences.NEGATIVE_NUMBER.at((*_AGAIN, field), number=number)
