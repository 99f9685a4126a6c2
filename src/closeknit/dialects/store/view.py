"""What is worked out from a store, kept until something that it was worked out from has changed.

A function that is derived gets the view and arguments, and may ask the view for objects and for what other
functions make of them. The view writes down what each has asked. So who depends on whom is never
declared and cannot be wrong: when an object changes, just those results are worked out again that
asked for it, directly or by way of others, and not even those where a result in between came out the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from closeknit.apis.wire import Wire
from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.dialects.store.store import Change, Entry, Store
from closeknit.dialects.wire.kinds import UNNAMED, Named
from closeknit.hub.keys import Key

if TYPE_CHECKING:
    from closeknit.dialects.family import Family

_O = TypeVar("_O", bound=Named)
_T = TypeVar("_T")
_P = ParamSpec("_P")
_Name: TypeAlias = tuple[Hashable, ...]
"""A function and its arguments."""


@dataclass(slots=True)
class _Result:
    """What a function made, and what it asked for."""

    value: Any
    asked: tuple[Change, ...]
    """Questions to the store."""
    used: tuple[_Name, ...]
    """Other results."""
    changed: int
    """The revision in which the value last came out otherwise."""
    checked: int
    """The revision in which it was last known to be right."""
    stale: bool = False
    """Whether something that it depends on may have changed since."""


@dataclass(slots=True)
class _Asking:
    """A function at work."""

    asked: dict[Change, None] = field(default_factory=dict)
    used: dict[_Name, None] = field(default_factory=dict)


class _Dependents:
    """By question or result, the results that depend on it. Most have one, so only a second makes a set."""

    def __init__(self) -> None:
        self._by_source: dict[Hashable, _Name | set[_Name]] = {}

    def of(self, source: Hashable) -> Collection[_Name]:
        found = self._by_source.get(source)
        return () if found is None else found if isinstance(found, set) else (found,)

    def add(self, source: Hashable, name: _Name) -> None:
        found = self._by_source.setdefault(source, name)
        if isinstance(found, set):
            found.add(name)
        elif found is not name:
            self._by_source[source] = {found, name}

    def discard(self, source: Hashable, name: _Name) -> bool:
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
        schedulers: frozenset[str] | None = None,
    ) -> None:
        self._store = store
        self.families = families
        """In the order in which they may claim a pod."""
        self.lenient = lenient
        """Whether unknown fields, names that only a whole cluster resolves, and constraints that no
        request expresses are passed over."""
        self.schedulers = schedulers
        """The ``schedulerName`` of pods that are ours to bind, where the store follows a cluster.

        There only pods that exist and may be bound now count, and none are assumed. None for files.
        """
        self.worked_out: Counter[object] = Counter()
        """How often each function was run; for tests and benchmarks."""
        self._revision = 0
        self._results: dict[_Name, _Result] = {}
        self._asked_by = _Dependents()
        self._used_by = _Dependents()
        self._changed: dict[Change, int] = {}
        self._stale: dict[Hashable, dict[_Name, None]] = {}
        self._at_work: list[_Asking] = []

    # ------------------------------------------------------------------------------------- changes

    def put(self, entry: Entry) -> None:
        """Add or replace one object."""
        self._note(self._store.put(entry))

    def remove(self, key: Key) -> None:
        """Forget one object, and what was made of it alone."""
        self._note(self._store.remove(key))
        for question in (("key", key), ("exists", key)):
            for name in [name for name in self._asked_by.of(question) if key in name]:
                self._forget(name, self._results.pop(name))

    def stale(self, function: Callable[..., object]) -> Iterator[tuple[Any, ...]]:
        """The arguments for which what this function made may be wrong by now."""
        return (name[1:] for name in tuple(self._stale.get(function, ())))

    def is_stale(self, function: Callable[..., object], *arguments: Hashable) -> bool:
        """Whether what this function made of these arguments may be wrong by now."""
        return (function, *arguments) in self._stale.get(function, ())

    def depends_on(self, function: Callable[..., object], *arguments: Hashable) -> set[Change]:
        """The questions that a result asked, directly or through others; a changed answer makes it stale."""
        asked: set[Change] = set()
        seen: set[_Name] = set()
        pending: list[_Name] = [(function, *arguments)]
        while pending:
            name = pending.pop()
            if name not in seen and name in self._results:
                seen.add(name)
                asked.update(self._results[name].asked)
                pending.extend(self._results[name].used)
        return asked

    def _note(self, changes: set[Change]) -> None:
        if not changes:
            return
        self._revision += 1
        pending: list[_Name] = []
        for change in changes:
            # What nobody has asked yet is asked of the store as it is then.
            if dependents := self._asked_by.of(change):
                self._changed[change] = self._revision
                pending.extend(dependents)
        while pending:
            result = self._results[name := pending.pop()]
            if not result.stale:
                result.stale = True
                self._stale.setdefault(name[0], {})[name] = None
                pending.extend(self._used_by.of(name))

    # ----------------------------------------------------------------------------------- questions

    def get(self, key: Key) -> Stored[Any] | None:
        """The object of this key, if it can be read."""
        found = self.entry(key)
        return found if isinstance(found, Stored) else None

    def entry(self, key: Key) -> Entry | None:
        """The object of this key, be it readable or not."""
        self._ask(("key", key))
        return self._store.get(key)

    def has(self, key: Key) -> bool:
        """Whether there is such an object, be it readable or not."""
        self._ask(("exists", key))
        return self._store.get(key) is not None

    def is_readable(self, key: Key) -> bool:
        """Whether there is such an object, and it can be read; what it says is not asked."""
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
        name: _Name = (function, *cast(tuple[Hashable, ...], arguments))
        if self._at_work:
            self._at_work[-1].used[name] = None
        return cast(_T, self._current(name).value)

    def _ask(self, question: Change) -> None:
        if self._at_work:
            self._at_work[-1].asked[question] = None

    # ------------------------------------------------------------------------------------- results

    def _current(self, name: _Name) -> _Result:
        result = self._results.get(name)
        if result is None or (result.stale and self._is_wrong(result)):
            return self._work_out(name, result)
        if result.stale:
            result.stale = False
            del self._stale[name[0]][name]
        result.checked = self._revision
        return result

    def _is_wrong(self, result: _Result) -> bool:
        if any(self._changed.get(question, 0) > result.checked for question in result.asked):
            return True
        return any(self._current(used).changed > result.checked for used in result.used)

    def _work_out(self, name: _Name, before: _Result | None) -> _Result:
        function = cast(Callable[..., Any], name[0])
        asking = _Asking()
        self._at_work.append(asking)
        try:
            value = function(self, *name[1:])
        finally:
            self._at_work.pop()
        self.worked_out[function] += 1
        if before is not None:
            self._forget(name, before)
        same = before is not None and bool(before.value == value)
        result = _Result(
            value=before.value if before is not None and same else value,
            asked=tuple(asking.asked),
            used=tuple(asking.used),
            changed=before.changed if before is not None and same else self._revision,
            checked=self._revision,
        )
        self._results[name] = result
        for question in result.asked:
            self._asked_by.add(question, name)
        for used in result.used:
            self._used_by.add(used, name)
        return result

    def _forget(self, name: _Name, result: _Result) -> None:
        if result.stale:
            del self._stale[name[0]][name]
        for question in result.asked:
            if self._asked_by.discard(question, name):
                self._changed.pop(question, None)
        for used in result.used:
            self._used_by.discard(used, name)
