"""Starts a component again in its process when an error escapes all containment.

All that must outlive a component is in the cluster, so one that is made again goes on where the other ended,
as after a restart of the process. What differs from a restart: the object that was worked on is known, and is
withheld, so the same object does not end the next one as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from inspect import CO_VARARGS
from random import Random
from types import FrameType
from typing import Any, Final

from closeknit.hub.failures import Step, described
from closeknit.hub.keys import Key
from closeknit.hub.workload import WorkloadBase
from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import Clock
from closeknit.kube.errors import only_expired
from closeknit.live.containment import Containment
from closeknit.live.log import Log

_FIRST: Final = 1.0
_LONGEST: Final = 60.0
_SETTLED: Final = 300.0
"""Seconds of work without an error after which the next one is a first one."""
_OWN_GROUP: Final = "closeknit.dev"
_DEEP: Final = 3
"""How far values are followed to the object that they are about."""
_ABOUT: Final = ("key", "object", "workload", "unit", "verdict", "commit", "plan", "pod", "subject", "failed")
"""The attributes by which values name the object that they are about."""


async def supervised(
    work: Callable[[], Awaitable[None]],
    containment: Containment,
    *,
    log: Log,
    random: Random,
    clock: Clock,
    settling: float = 0.0,
) -> None:
    """Work until it ends without an error, or is cancelled.

    ``settling``: seconds to wait at least before it begins again, so that calls of the last one are over.
    """
    backoff = Backoff(random, first=_FIRST, limit=_LONGEST)
    while True:
        began = clock.monotonic()
        try:
            await work()
        except Exception as error:
            if only_expired(error):
                # The term of leadership ends; the next one begins with new state.
                raise
            if clock.monotonic() - began > _SETTLED:
                backoff.reset()
            containment.now = clock.monotonic()
            blamed = blame(error)
            if blamed is not None:
                containment.note(blamed, Step.READ, error, withhold=True)
            # The next failure has another cause where the cause of this one is withheld.
            wait = settling + (_FIRST if blamed is not None else backoff.wait())
            log.warning(
                "failed, and begins again",
                component=containment.component,
                why=described(error),
                withheld=str(blamed or ""),
                seconds=round(wait, 1),
            )
            await clock.sleep(wait)
        else:
            return


def blame(error: BaseException) -> Key | None:
    """The object that was worked on when an error was raised: the innermost that a frame was called with."""
    if isinstance(error, BaseExceptionGroup):
        return next((key for each in error.exceptions if (key := blame(each)) is not None), None)
    frames: list[FrameType] = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    try:
        return next((key for frame in reversed(frames) for key in _arguments(frame)), None)
    except Exception:  # noqa: BLE001 (attributes of values are code that may be what has failed)
        return None


def _arguments(frame: FrameType) -> Iterator[Key]:
    code = frame.f_code
    named = code.co_argcount + code.co_kwonlyargcount
    values = [frame.f_locals.get(name) for name in code.co_varnames[:named]]
    if code.co_flags & CO_VARARGS:
        values += frame.f_locals.get(code.co_varnames[named]) or ()
    for value in values:
        if (key := _about(value, _DEEP)) is not None:
            yield key


def _about(value: Any, deep: int) -> Key | None:
    """The object that a value is about."""
    if isinstance(value, Key):
        # Some keys name what is held in an engine, and no object.
        return value if value.group != _OWN_GROUP else None
    if isinstance(value, WorkloadBase):
        return value.key
    if deep and type(value).__module__.startswith("closeknit.") and not isinstance(value, type):
        for name in _ABOUT:
            inner = getattr(value, name, None)
            if inner is not None and (key := _about(inner, deep - 1)) is not None:
                return key
    return None
