"""A scheduler's core as what it is told makes it: whoever was told the same does the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.kai import KAI
from closeknit.dialects.store.store import Entry
from closeknit.hub.keys import Key
from closeknit.scheduler.commit import Answered, Call
from closeknit.scheduler.core import Core
from closeknit.scheduler.preempt.disruption_budgets import DISRUPTION_BUDGETS
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings

_KIND_OF = {kind.kind: kind for kind in (*KINDS, *KAI.kinds, *DISRUPTION_BUDGETS.kinds)}


@dataclass(frozen=True)
class News:
    """What a scheduler is told at a time.

    Everything there is where it starts, the answer to a call, an object as it is now (None where it has gone),
    or nothing but the time.
    """

    now: float
    everything: Sequence[Entry] | None = None
    answer: Answered | None = None
    key: Key | None = None
    obj: dict[str, Any] | None = None


class Told:
    """A core that was told some news, one after the other."""

    core: Core

    def __init__(self, news: Sequence[News]) -> None:
        self.news: list[News] = []
        self.sent: list[Call] = []
        """What it sent at the last news."""
        for each in news:
            self.tell(each)

    def told(self, news: Sequence[News]) -> Told:
        """One that was told this news: this one, where it only lacks the last, else a new one."""
        if tuple(self.news) != tuple(news[:-1]):
            return Told(news)
        self.tell(news[-1])
        return self

    def tell(self, news: News) -> None:
        """Tell it more, and let it do what a scheduler does after each piece of news."""
        self.news.append(news)
        self.sent.clear()
        if news.everything is not None:
            self.core = Core(Settings(), self._send, reporter=Silence(), observer=Silence(), random=Random(1))
            for entry in news.everything:
                self.core.state.put(entry)
        if news.answer is not None:
            self.core.answered(news.answer)
        if news.key is not None:
            kind = _KIND_OF[news.key.kind]
            self.core.state.heard(kind, news.obj["apiVersion"] if news.obj else "", news.key, news.obj)
        self.core.look(news.now)
        while self.core.decide(news.now):
            pass
        self.core.evict_overdue(news.now)

    def _send(self, call: Call, _: int) -> None:
        self.sent.append(call)
