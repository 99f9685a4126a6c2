"""A tree builds one YAML document from the parser's events.

PyYAML's own loaders set no limits. Here nothing calls itself, so no nesting can exhaust the stack; the
values that aliases stand for are counted before anything walks them; and a key that stands twice is a
problem with its line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Code, Fact, Problem
from closeknit.hub.sentences import text as sentences
from closeknit.text import scalars
from closeknit.text.nesting import DEEPEST
from closeknit.text.scalars import ScalarError, resolved

MOST_PROBLEMS = 1_000
"""How many problems of one document are kept: a key of three bytes may be repeated a million times."""

MOST_ALIASED = 1_000_000
"""How many values the aliases of one document may stand for in all."""

_MERGE = "<<"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_OPEN = object()
_COLLECTION_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


class GiveUpError(Exception):
    """The rest of the document is not worth reading."""

    def __init__(self, problem: Problem, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        """Where the parser had come, counted from 0 in the text that it was given."""


class _Frame:
    """A list or mapping whose end has not come yet."""

    __slots__ = ("anchor", "beyond", "container", "height", "is_mapping", "key", "merged", "merging")

    def __init__(self, container: Any, anchor: str | None) -> None:
        self.container = container
        self.is_mapping = type(container) is dict
        self.anchor = anchor
        self.key: str | None = None
        self.merging = False
        """Whether the key is that of a merge."""
        self.merged: set[str] | None = None
        """The keys that merges alone have given so far."""
        self.beyond = 0
        """How many values stand in what this holds, beyond those that it holds itself."""
        self.height = 1


class Tree:
    """One document: after ``read``, ``content`` and ``problems`` are complete."""

    def __init__(
        self, line: int, keys: dict[str, str], *, nulls: bool = False, most_aliased: int = MOST_ALIASED
    ) -> None:
        """``line`` is how many lines precede the text; ``keys`` remembers keys from document to document.

        With ``nulls``, a field whose value is null keeps it.
        """
        self.problems: list[Problem] = []
        self._line = line
        self._keys = keys
        self._frames = [_Frame([], None)]
        self._anchors: dict[str, Any] = {}
        self._aliased = 0
        self._most_aliased = most_aliased
        self._nulls = nulls
        self._with_nulls: list[dict[str, Any]] = []

    @property
    def content(self) -> Any:
        """What the document holds, None for nothing."""
        return next(iter(self._frames[0].container), None)

    def read(self, next_event: Callable[[], Any]) -> None:
        """Take the events up to the end of the document; raises ``GiveUpError`` where it gives up."""
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._take_scalar(event)
            elif kind is yaml.MappingStartEvent:
                self._open({}, event)
            elif kind is yaml.SequenceStartEvent:
                self._open([], event)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close()
            elif kind is yaml.AliasEvent:
                self._take_alias(event)
            else:
                break
        for mapping in self._with_nulls:
            for absent in [key for key, value in mapping.items() if value is None]:
                del mapping[absent]

    def _take_scalar(self, event: Any) -> None:
        frame = self._frames[-1]
        is_key = frame.is_mapping and frame.key is None
        if is_key:
            self._take_key(frame, event)
            if event.anchor is None:
                return
        try:
            if event.tag is not None:
                value = scalars.tagged(event.value, event.tag)
            else:
                value = resolved(event.value) if event.implicit[0] else event.value
        except ScalarError as error:
            value = None
            self._refuse(event, error)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)
        if not is_key:
            self._put(value)

    def _take_key(self, frame: _Frame, event: Any) -> None:
        key = event.value
        if key == _MERGE and (event.implicit[0] or event.tag == _MERGE_TAG):
            frame.key, frame.merging = _MERGE, True
            return
        frame.key = key
        if event.tag is not None or event.implicit[0]:
            try:
                frame.key = key = self._meant_key(key, event.tag)
            except ScalarError as error:
                self._refuse(event, error)
        if key in frame.container:
            if frame.merged and key in frame.merged:
                frame.merged.remove(key)
            else:
                self._note(sentences.KEY_TWICE, key=key, second=self._at(event))

    def _meant_key(self, written: str, tag: str | None) -> str:
        """The string that a key is. One without a tag is remembered: most keys are met again and again."""
        if tag is not None:
            return scalars.key(written, tag)
        if (key := self._keys.get(written)) is None:
            key = self._keys[written] = scalars.key(written, None)
        return key

    def _open(self, container: Any, event: Any) -> None:
        above = self._frames[-1]
        if len(self._frames) > DEEPEST:
            raise self._hopeless(event, sentences.NESTED_TOO_DEEP, most=DEEPEST)
        if above.is_mapping and above.key is None:
            raise self._hopeless(event, sentences.COLLECTION_AS_KEY)
        if event.tag not in _COLLECTION_TAGS:
            self._note(sentences.UNSUPPORTED_TAG, tag=event.tag, at=self._at(event))
        if event.anchor is not None:
            self._anchors[event.anchor] = _OPEN
        self._frames.append(_Frame(container, event.anchor))

    def _close(self) -> None:
        frame = self._frames.pop()
        container = frame.container
        if frame.is_mapping and not self._nulls and None in container.values():
            self._with_nulls.append(container)
        size = frame.beyond + len(container)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (container, size + 1, frame.height)
        above = self._frames[-1]
        above.beyond += size
        if above.height <= frame.height:
            above.height = frame.height + 1
        self._put(container)

    def _take_alias(self, event: Any) -> None:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            raise self._hopeless(event, sentences.UNKNOWN_ANCHOR, anchor=event.anchor)
        if anchored is _OPEN:
            raise self._hopeless(event, sentences.ALIAS_IN_ANCHOR, anchor=event.anchor)
        value, size, height = anchored
        self._aliased += size
        if self._aliased > self._most_aliased:
            raise self._hopeless(event, sentences.TOO_MANY_ALIASED, most=self._most_aliased)
        if len(self._frames) - 1 + height > DEEPEST:
            raise self._hopeless(event, sentences.NESTED_TOO_DEEP, most=DEEPEST)
        above = self._frames[-1]
        above.beyond += size - 1
        above.height = max(above.height, height + 1)
        if not above.is_mapping or above.key is not None:
            # kubectl merges a list of mappings that stands in its place, but no alias of one.
            self._put(None if above.merging and type(value) is list else value)
        elif type(value) is str:
            self._take_key(above, yaml.ScalarEvent(None, None, (False, True), value, event.start_mark))
        else:
            raise self._hopeless(event, sentences.ALIAS_AS_KEY)

    def _put(self, value: Any) -> None:
        frame = self._frames[-1]
        if not frame.is_mapping:
            frame.container.append(value)
            return
        if frame.merging:
            self._merge(frame, value)
        else:
            frame.container[frame.key] = value
        frame.key, frame.merging = None, False

    def _merge(self, frame: _Frame, value: Any) -> None:
        """Merge as kubectl does: what comes later counts, but in a list of mappings what comes first."""
        mappings = value if type(value) is list else [value]
        if not all(type(mapping) is dict for mapping in mappings):
            self._note(sentences.BAD_MERGE)
            return
        frame.merged = frame.merged or set()
        for mapping in reversed(mappings):
            frame.merged.update(key for key in mapping if key not in frame.container)
            frame.container.update(mapping)

    def _refuse(self, event: Any, error: ScalarError) -> None:
        self._note(sentences.BAD_SCALAR, problem=error.problem, at=self._at(event))

    def _note(self, code: Code, **facts: Fact) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            return
        steps = tuple(
            step
            for frame in self._frames[1:]
            if (step := frame.key if frame.is_mapping else len(frame.container)) is not None
        )
        self.problems.append(code.at(steps, **facts))

    def _hopeless(self, event: Any, code: Code, **facts: Fact) -> GiveUpError:
        return GiveUpError(code.at((Verbatim(self._at(event)),), **facts), event.start_mark.line)

    def _at(self, event: Any) -> str:
        return f"line {event.start_mark.line + self._line + 1}, column {event.start_mark.column + 1}"
