"""What is worked out from a store, kept until something that it was worked out from has changed.

A function that is derived gets the view and arguments, and may ask the view for objects and for what other
functions make of them. The view writes down what each has asked. So who depends on whom is never
declared and cannot be wrong: when an object changes, just those results are worked out again that
asked for it, directly or by way of others, and not even those where a result in between came out the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import msgspec

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Wire
from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.dialects.store.store import Change, Entry, Store
from closeknit.dialects.wire.kinds import UNNAMED
from closeknit.hub.keys import Key

if TYPE_CHECKING:
    from closeknit.dialects.family import Family

_O = TypeVar("_O", bound=KubernetesObject)
_T = TypeVar("_T")
_P = ParamSpec("_P")
_Name: TypeAlias = tuple[Any, ...]
"""The name of a result: a function and its arguments."""
_Source: TypeAlias = Change | _Name
"""What a result was worked out from: a question to the store, which begins with a text, or another result."""


class _Result(msgspec.Struct, gc=False):
    """What a function made, and from what."""

    value: Any
    sources: tuple[_Source, ...]
    """In the order in which the function asked for them."""
    changed: int
    """The revision in which the value last came out otherwise."""
    checked: int
    """The revision in which it was last known to be right."""
    stale: bool = False
    """Whether one of its sources may have changed since."""


class _Dependents:
    """By source, the results that depend on it. Most have one, so only a second makes a set."""

    def __init__(self) -> None:
        self._by_source: dict[_Source, _Name | set[_Name]] = {}

    def __len__(self) -> int:
        return len(self._by_source)

    def among(self, changes: Iterable[Change]) -> list[Change]:
        """The changes of something on which results depend."""
        by_source = self._by_source
        return [each for each in changes if each in by_source]

    def of(self, source: _Source) -> Collection[_Name]:
        found = self._by_source.get(source)
        return () if found is None else found if isinstance(found, set) else (found,)

    def add(self, sources: Iterable[_Source], name: _Name) -> None:
        by_source = self._by_source
        for source in sources:
            found = by_source.setdefault(source, name)
            if isinstance(found, set):
                found.add(name)
            elif found is not name and found != name:
                by_source[source] = {found, name}

    def discard(self, source: _Source, name: _Name) -> bool:
        """Remove one; returns whether nobody depends on the source any more."""
        found = self._by_source.get(source)
        if isinstance(found, set):
            found.discard(name)
        if found == name or not found:
            self._by_source.pop(source, None)
        return source not in self._by_source


class View:
    """Reads a store, and remembers what was made of it."""

    def __init__(
        self,
        store: Store,
        families: Sequence[Family] = (),
        *,
        lenient: bool = False,
        partial: bool = False,
        judging: bool = False,
        schedulers: frozenset[str] | None = None,
    ) -> None:
        self._store = store
        self.families = families
        """In the order in which they may claim a pod."""
        self.lenient = lenient
        """Whether unknown fields, names that only a whole cluster resolves, and constraints that no
        request expresses are passed over."""
        self.partial = partial
        """Whether the store holds a part of what is in a cluster, such as a few files, and nothing is placed.

        What it names may then be elsewhere, as long as the store has nothing of that kind."""
        self.judging = judging
        """Whether only what is wrong with objects is asked for: no request is made of what is right."""
        self.schedulers = schedulers
        """The ``schedulerName`` of pods that are ours to bind, where the store follows a cluster.

        There only pods that exist and may be bound now count, and none are assumed. None for files.
        """
        self.existing: frozenset[Key] = frozenset()
        """Objects that a cluster has admitted already, so that the store holds updates of them."""
        self.meant: frozenset[str] = frozenset()
        """The ``schedulerName`` that single pods of files name to mean us; empty for the usual ones."""
        self.worked_out: Counter[object] = Counter()
        """How often each function was run; for tests and benchmarks."""
        self.resets = 0
        """How often everything was forgotten, because an error left unknown what depends on what.

        Results are right all the same. Whoever relies on ``stale`` derives everything again.
        """
        self._revision = 0
        self._results: dict[_Name, _Result] = {}
        self._dependents = _Dependents()
        self._stale: dict[object, dict[_Name, None]] = {}
        """By function, the results that may be wrong."""
        self._changed: dict[Change, int] = {}
        """By question that results depend on, the revision in which the answer last changed."""
        self._at_work: list[dict[_Source, None]] = []
        """For each function at work, what it has asked for so far."""

    # ------------------------------------------------------------------------------------- changes

    def put(self, entry: Entry) -> bool:
        """Add or replace one object; returns whether it was not there, or was another."""
        changes = self._store.put(entry)
        self._note(changes)
        return bool(changes)

    def remove(self, key: Key) -> None:
        """Forget one object, and what was made of it alone."""
        self._note(self._store.remove(key), gone=key)

    def stale(self, function: Callable[..., object]) -> Iterator[tuple[Any, ...]]:
        """The arguments for which what this function made may be wrong by now.

        A result with arguments on which no other depends is listed as long as one of them is the key of an
        object that exists.
        """
        return (name[1:] for name in self._stale.get(function, ()))

    def is_stale(self, function: Callable[..., object], *arguments: Hashable) -> bool:
        """Whether what this function made of these arguments may be wrong by now."""
        return (function, *arguments) in self._stale.get(function, ())

    def _reset(self) -> None:
        """Forget all results."""
        self.resets += 1
        self._results, self._stale, self._changed = {}, {}, {}
        self._dependents = _Dependents()

    def _note(self, changes: Sequence[Change], gone: Key | None = None) -> None:
        if not changes:
            return
        self._revision += 1
        try:
            self._mark(changes, gone)
        except BaseException:
            self._reset()
            raise

    def _mark(self, changes: Sequence[Change], gone: Key | None) -> None:
        pending: list[_Name] = []
        # What nobody has asked yet is asked of the store as it is then.
        for change in self._dependents.among(changes):
            self._changed[change] = self._revision
            pending.extend(self._dependents.of(change))
        touched: dict[_Name, None] = {}
        while pending:
            result = self._results[name := pending.pop()]
            # What was made of an object that is gone is found by way of results that are stale already, too.
            # Of the others, these were looked at when they became stale.
            if not result.stale or (gone is not None and gone in name[1:]):
                touched[name] = None
                result.stale = True
                self._stale.setdefault(name[0], {})[name] = None
                pending.extend(self._dependents.of(name))
        for name in touched:
            self._drop_if_unused(name)

    def recorded(self, function: Callable[[], _T]) -> tuple[_T, frozenset[Change] | None]:
        """What a function returns, and every question to the store on which that depends.

        None instead of the questions where some are not known any more.
        """
        asked: dict[_Source, None] = {}
        self._at_work.append(asked)
        try:
            value = function()
            return value, self._questions_behind(asked)
        finally:
            self._at_work.pop()

    def _questions_behind(self, asked: Iterable[_Source]) -> frozenset[Change] | None:
        questions: set[Change] = set()
        seen: set[_Source] = set()
        pending = list(asked)
        while pending:
            source = pending.pop()
            if source in seen:
                continue
            seen.add(source)
            if isinstance(source[0], str):
                questions.add((source[0], source[1]))
            elif (result := self._results.get(source)) is not None:
                pending.extend(result.sources)
            else:
                return None
        return frozenset(questions)

    # ----------------------------------------------------------------------------------- questions

    def get(self, key: Key) -> Stored[Any] | None:
        """The object of this key, if it can be read."""
        found = self.entry(key)
        return found if isinstance(found, Stored) else None

    def entry(self, key: Key) -> Entry | None:
        """The object of this key, be it readable or not."""
        self._ask(("key", key))
        return self._store.get(key)

    def content(self, key: Key) -> Any | None:
        """The content of the object of this key, if it can be read.

        Who asks for no more depends neither on what only ``written`` says, such as the status of an object
        whose wire type has none, nor on what a server counts.
        """
        self._ask(("content", key))
        found = self._store.get(key)
        return found.content if isinstance(found, Stored) else None

    def has(self, key: Key) -> bool:
        """Whether there is such an object, be it readable or not."""
        self._ask(("exists", key))
        return self._store.get(key) is not None

    def is_readable(self, key: Key) -> bool:
        """Whether there is such an object, and it can be read; its content is not asked for."""
        self._ask(("exists", key))
        return isinstance(self._store.get(key), Stored)

    def of(self, shape: type[_O]) -> Sequence[Stored[_O]]:
        """All objects of this shape, in the order in which they came."""
        self._ask(("shape", shape))
        return tuple(self._store.of(shape).values())

    def unreadable(self, shape: type[Wire]) -> Sequence[Unreadable]:
        """The objects that should have had this shape and could not be read."""
        self._ask(("shape", shape))
        return tuple(self._store.unreadable(shape).values())

    def keys(self, shape: type[Wire]) -> Sequence[Key]:
        """The objects of this shape that exist and have a name, whether they could be read or not."""
        self._ask(("shape", shape))
        every = (*self._store.of(shape), *self._store.unreadable(shape))
        return tuple(key for key in every if not key.name.startswith(UNNAMED))

    def found(self, index: str, value: Hashable) -> Sequence[Stored[Any]]:
        """The objects that an index finds by this value, in the order in which they came."""
        self._ask((index, value))
        return tuple(self._store.found(index, value).values())

    def values(self, index: str, key: Key) -> tuple[Any, ...]:
        """The values by which an index finds an object."""
        self._ask(("key", key))
        return self._store.values(index, key)

    def derive(
        self, function: Callable[Concatenate[View, _P], _T], *arguments: _P.args, **_: _P.kwargs
    ) -> _T:
        """What a function of this view and hashable arguments makes; worked out when it is first asked for.

        The function must be pure, and must ask for objects by way of the view alone.
        """
        name: _Name = (function, *arguments)
        if self._at_work:
            self._at_work[-1][name] = None
        value: _T = self._current(name).value
        return value

    def _ask(self, question: Change) -> None:
        if self._at_work:
            self._at_work[-1][question] = None

    # ------------------------------------------------------------------------------------- results

    def _current(self, name: _Name) -> _Result:
        result = self._results.get(name)
        if result is None:
            return self._work_out(name, None)
        if result.stale:
            for each in result.sources:
                if self._is_newer(each, result):
                    return self._work_out(name, result)
            self._confirm(name, result)
        result.checked = self._revision
        return result

    def _is_newer(self, source: _Source, than: _Result) -> bool:
        """Whether a source has changed since; those before it have not, so it would be asked for again."""
        if isinstance(source[0], str):
            return self._changed.get(source, 0) > than.checked
        return self._current(source).changed > than.checked

    def _confirm(self, name: _Name, result: _Result) -> None:
        result.stale = False
        # It is not among them if everything was forgotten while it was computed.
        self._stale.get(name[0], {}).pop(name, None)

    def _work_out(self, name: _Name, before: _Result | None) -> _Result:
        function = name[0]
        asked: dict[_Source, None] = {}
        self._at_work.append(asked)
        try:
            value = function(self, *name[1:])
        finally:
            self._at_work.pop()
        try:
            return self._record(name, value, tuple(asked), before)
        except BaseException:
            self._reset()
            raise

    def _record(
        self, name: _Name, value: Any, sources: tuple[_Source, ...], before: _Result | None
    ) -> _Result:
        self.worked_out[name[0]] += 1
        result = _Result(value, sources, self._revision, self._revision)
        self._results[name] = result
        if before is None:
            self._dependents.add(sources, name)
            return result
        if before.value == value:
            result.value, result.changed = before.value, before.changed
        self._confirm(name, before)
        if before.sources != sources:
            # It is a dependent of the sources that it had before, as long as they are not forgotten.
            had = set(before.sources)
            self._dependents.add([each for each in sources if each not in had], name)
            now = set(sources)
            self._forget(name, [each for each in before.sources if each not in now])
        return result

    def _forget(self, name: _Name, sources: Iterable[_Source]) -> None:
        """Note that a result does not depend on these sources any more."""
        for source in sources:
            if not self._dependents.discard(source, name):
                continue
            if isinstance(source[0], str):
                self._changed.pop(source, None)
            else:
                self._drop_if_unused(source)

    def _drop_if_unused(self, name: _Name) -> None:
        """Drop a result on which nothing depends, unless it is of an object that exists or of all objects."""
        if len(name) == 1:
            return
        for each in name[1:]:
            if isinstance(each, Key) and self._store.get(each) is not None:
                return
        # A function at work is registered as a dependent only when it is done.
        if self._dependents.of(name) or any(name in asked for asked in self._at_work):
            return
        result = self._results.pop(name, None)
        if result is not None:
            if result.stale:
                self._confirm(name, result)
            self._forget(name, result.sources)
