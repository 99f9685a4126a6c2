"""The tree of one YAML document, built from parse events one by one.

Working on events rather than with a ready-made loader keeps every limit in
our hands: nothing here calls itself, so no nesting can exhaust the stack; the
size that aliases stand for is counted before anything walks it; and keys that
stand twice are seen, with their line.
"""

from __future__ import annotations

from typing import Any

import yaml

from closeknit.dialects.paths import path_of
from closeknit.dialects.text.scalars import TagError, resolved, scalar
from closeknit.hub.problems import Problem, shown

DEEPEST = 100
"""How deep lists and mappings may nest."""

TOO_DEEP = f"Lists and mappings are nested more than {DEEPEST} deep. Nothing that is read here needs that."

MOST_ALIASED = 1_000_000
"""How many values the aliases of one document may stand for in all."""

CONTENT = frozenset(
    (
        yaml.ScalarEvent,
        yaml.MappingStartEvent,
        yaml.MappingEndEvent,
        yaml.SequenceStartEvent,
        yaml.SequenceEndEvent,
        yaml.AliasEvent,
    )
)
"""The kinds of events that say something of what is in a document."""

_MERGE = "<<"
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

    __slots__ = ("anchor", "before", "container", "height", "is_mapping", "key", "merged")

    def __init__(self, container: Any, anchor: str | None, before: int) -> None:
        self.container = container
        self.is_mapping = type(container) is dict
        self.anchor = anchor
        self.before = before
        self.height = 1
        self.key: str | None = None
        self.merged: list[Any] = []


class Tree:
    """Takes the events of one document, in order; then ``content`` and ``problems`` are complete."""

    def __init__(self, line: int) -> None:
        self.content: Any = None
        self.problems: list[Problem] = []
        self._line = line
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Any] = {}
        self._values = 0
        self._aliased = 0

    def take(self, event: Any, kind: type) -> None:
        """Add what one event of ``CONTENT`` says; raises ``GiveUpError`` where going on makes no sense."""
        if kind is yaml.ScalarEvent:
            frame = self._frames[-1] if self._frames else None
            # Plain keys and values of mappings are most of what there is, so they go a short way.
            if frame is None or not frame.is_mapping or event.anchor is not None:
                self._take_scalar(frame, event)
            elif frame.key is None:
                if event.value in frame.container:
                    self._take_key(frame, event)
                else:
                    frame.key = event.value
            elif event.tag is None and frame.key != _MERGE:
                value = event.value
                frame.container[frame.key] = resolved(value) if event.implicit[0] else value
                frame.key = None
                self._values += 1
            else:
                self._put(self._meaning(event))
        elif kind is yaml.MappingStartEvent:
            self._open({}, event)
        elif kind is yaml.SequenceStartEvent:
            self._open([], event)
        elif kind is yaml.AliasEvent:
            self._take_alias(event)
        else:
            self._close()

    def _take_scalar(self, frame: _Frame | None, event: Any) -> None:
        if frame is not None and frame.is_mapping and frame.key is None:
            self._take_key(frame, event)
        else:
            self._put(self._meaning(event))

    def _take_key(self, frame: _Frame, event: Any) -> None:
        key = event.value
        if key in frame.container:
            frame.key = key
            again = self._at(event)
            self._note(
                f"The key {shown(key)} stands twice in one mapping, the second time on {again}. Keep one."
            )
        if event.anchor is not None:
            self._anchors[event.anchor] = (key, 1, 0)
        frame.key = key

    def _meaning(self, event: Any) -> Any:
        value, tag = event.value, event.tag
        if tag is None:
            if event.implicit[0]:
                value = resolved(value)
        else:
            try:
                value = scalar(value, tag)
            except TagError as error:
                self._note(f"{error} It stands on {self._at(event)}.")
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)
        self._values += 1
        return value

    def _open(self, container: Any, event: Any) -> None:
        if len(self._frames) == DEEPEST:
            raise self._hopeless(event, TOO_DEEP)
        if self._frames and self._frames[-1].is_mapping and self._frames[-1].key is None:
            raise self._hopeless(event, "A list or mapping is used as a key. Keys are strings.")
        if event.tag not in _COLLECTION_TAGS:
            self._note(f"The tag {shown(event.tag)} on {self._at(event)} is not supported. Leave it out.")
        if event.anchor is not None:
            self._anchors[event.anchor] = _OPEN
        self._frames.append(_Frame(container, event.anchor, self._values))
        self._values += 1

    def _close(self) -> None:
        frame = self._frames.pop()
        container = frame.container
        if frame.is_mapping:
            for mapping in frame.merged:
                for key, value in mapping.items():
                    container.setdefault(key, value)
            if None in container.values():
                for key in [key for key, value in container.items() if value is None]:
                    del container[key]
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (container, self._values - frame.before, frame.height)
        if self._frames:
            above = self._frames[-1]
            above.height = max(above.height, frame.height + 1)
        self._put(container)

    def _take_alias(self, event: Any) -> None:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            raise self._hopeless(event, f"There is no anchor {shown(event.anchor)} before this alias.")
        if anchored is _OPEN:
            raise self._hopeless(event, f"The alias {shown(event.anchor)} stands inside its own anchor.")
        value, size, height = anchored
        self._values += size
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            raise self._hopeless(
                event, f"The aliases stand for more than {MOST_ALIASED} values. Write fewer of them."
            )
        if len(self._frames) + height > DEEPEST:
            raise self._hopeless(event, TOO_DEEP)
        if self._frames:
            above = self._frames[-1]
            above.height = max(above.height, height + 1)
            if above.is_mapping and above.key is None:
                if type(value) is not str:
                    raise self._hopeless(event, "An alias is used as a key. Write the key itself.")
                self._take_key(above, yaml.ScalarEvent(None, None, (True, False), value, event.start_mark))
                return
        self._put(value)

    def _put(self, value: Any) -> None:
        if not self._frames:
            self.content = value
            return
        frame = self._frames[-1]
        if not frame.is_mapping:
            frame.container.append(value)
            return
        key, frame.key = frame.key, None
        if key != _MERGE:
            frame.container[key] = value
            return
        merged = value if type(value) is list else [value]
        if all(type(mapping) is dict for mapping in merged):
            frame.merged.extend(merged)
        else:
            frame.key = key
            self._note("A merge takes a mapping or a list of mappings, by their aliases.")
            frame.key = None

    def _note(self, message: str) -> None:
        steps = [
            step
            for frame in self._frames
            if (step := frame.key if frame.is_mapping else len(frame.container)) is not None
        ]
        self.problems.append(Problem(path_of(steps), message))

    def _hopeless(self, event: Any, message: str) -> GiveUpError:
        return GiveUpError(Problem(self._at(event), message), event.start_mark.line)

    def _at(self, event: Any) -> str:
        return f"line {event.start_mark.line + self._line + 1}, column {event.start_mark.column + 1}"
