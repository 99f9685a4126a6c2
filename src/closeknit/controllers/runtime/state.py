"""What the controllers of a process know of the cluster: objects as the server says them, and a view."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from closeknit.controllers.runtime.comparing import is_going, uid_of
from closeknit.controllers.runtime.objects import owner_indexes
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import indexes_of
from closeknit.dialects.store.store import Entry, Index, Store
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.live.containment import Containment
from closeknit.live.entries import unreadable, whole_entry_of


class ViewResetError(Exception):
    """A view has forgotten what depends on what, so that nothing would be observed again."""


class ControllerState:
    """Listens to what is followed, and remembers which objects have changed."""

    def __init__(
        self,
        families: Sequence[Family],
        kinds: Iterable[Kind],
        indexes: Iterable[Index] = (),
        *,
        schedulers: frozenset[str],
        settings: Iterable[Entry] = (),
        containment: Containment | None = None,
    ) -> None:
        """``settings``: objects that no server has, such as what an operator was installed with."""
        self.containment = containment or Containment("controllers")
        self._withheld: dict[Key, tuple[Kind, str, Any]] = {}
        """Objects that are withheld, as the server reported them last."""
        self._store = Store([*indexes_of(families), *owner_indexes(kinds), *indexes])
        self.view = View(self._store, families, lenient=True, schedulers=schedulers)
        for entry in settings:
            self.view.put(entry)
        self._heard: dict[Key, type[Any]] = {}
        self._leaving: dict[Key, list[tuple[str, asyncio.Future[None]]]] = {}

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:
        """What the server says of an object; None where it has gone."""
        self._withheld.pop(key, None)
        if obj is None:
            self.containment.gone(key)
            self.view.remove(key)
        else:
            self.containment.changed(key)
            failure = self.containment.withheld(key)
            if failure is not None:
                self._withheld[key] = kind, api_version, obj
            else:
                with self.containment.at(key, Step.READ) as step:
                    self.view.put(whole_entry_of(kind, api_version, obj))
                failure = step.failure
            if failure is not None:
                self.view.put(unreadable(kind, api_version, key, failure))
            if key in self._withheld:
                return
        self._heard[key] = kind.shape
        for uid, left in self._leaving.pop(key, ()):
            if not self._is_leaving(key, uid):
                self._leaving.setdefault(key, []).append((uid, left))
            elif not left.done():
                left.set_result(None)

    def retry(self) -> None:
        """Read objects again that have backed off long enough.

        Raises ``ViewResetError`` where the view has forgotten what depends on what: its user begins again.
        """
        if self.view.resets:
            raise ViewResetError
        for key in self.containment.due():
            if (withheld := self._withheld.pop(key, None)) is not None:
                kind, api_version, obj = withheld
                self.heard(kind, api_version, key, obj)

    def changed(self) -> dict[Key, type[Any]]:
        """The objects that have come, changed or gone since the last call, with their shapes."""
        found, self._heard = self._heard, {}
        return found

    @property
    def has_news(self) -> bool:
        """Whether ``changed`` would tell something."""
        return bool(self._heard)

    def get(self, key: Key) -> Entry | None:
        """An object as it was last read."""
        return self._store.get(key)

    async def leaving(self, key: Key, uid: str) -> None:
        """Return when the object of this uid is seen to be deleted."""
        if not self._is_leaving(key, uid):
            left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._leaving.setdefault(key, []).append((uid, left))
            await left

    def _is_leaving(self, key: Key, uid: str) -> bool:
        entry = self._store.get(key)
        return entry is None or is_going(entry) or (bool(uid) and uid_of(entry) != uid)
