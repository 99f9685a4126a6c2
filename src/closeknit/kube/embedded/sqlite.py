"""A journal in one SQLite file: what a writer was told is there after any crash.

Writes are committed in groups: while one group is on its way to the disk, the
next one gathers. A group that cannot be committed never happened, and each of
its writers is told so.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from closeknit.kube.embedded.store import Key, Record, Store, TableKey
from closeknit.kube.errors import InternalServerError

_APPLICATION: Final = 0x636B6E74
_LAYOUT: Final = 1

_Row: TypeAlias = tuple[str, str, str, str, int, bytes | None]


class StateFileError(Exception):
    """The file cannot be used; the message says why and what to do."""


class SqliteJournal:
    """Keeps the writes of a store in a file, which one process has at a time."""

    def __init__(self, path: Path, *, history: int = 10_000) -> None:
        self.path = path
        self._connection = _opened(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="closeknit-journal")
        self._group: list[_Row] = []
        self._flushing: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self.store = self._loaded(history)

    def _loaded(self, history: int) -> Store:
        """A store with everything that the file holds."""
        (version,) = self._connection.execute("SELECT version FROM state").fetchone()
        store = Store(version=version, history=history, journal=self)
        rows = self._connection.execute("SELECT grp, plural, namespace, name, version, body FROM objects")
        for group, plural, namespace, name, version, body in rows:
            key = (namespace, name)
            record = Record(key, version, None, body)
            store.table((group, plural)).put(key, record)
        return store

    def write(self, table: TableKey, key: Key, record: Record | None, version: int) -> None:
        """Take note of a write, which goes to the file with the next group."""
        self._group.append((*table, *key, version, None if record is None else record.raw))

    async def settled(self) -> None:
        """Return when every write so far is in the file; raise where it could not be kept."""
        if not self._group and (self._flushing is None or self._flushing.done()):
            return
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(kept)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush())
        await kept

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._group or self._waiting:
            group, self._group = self._group, []
            waiting, self._waiting = self._waiting, []
            try:
                if group:
                    await loop.run_in_executor(self._thread, self._commit, group)
            except sqlite3.Error as problem:
                # Writes that came meanwhile stand on those that failed.
                self.store.undo()
                self._group.clear()
                waiting += self._waiting
                self._waiting = []
                for one in waiting:
                    if not one.done():
                        one.set_exception(_not_kept(self.path, problem))
                continue
            if group:
                self.store.settle(group[-1][4])
            for one in waiting:
                if not one.done():
                    one.set_result(None)

    def _commit(self, group: list[_Row]) -> None:
        """Write a group in one transaction; runs in the journal's own thread."""
        last = {row[:4]: row for row in group}
        gone = [identity for identity, row in last.items() if row[5] is None]
        there = [row for row in last.values() if row[5] is not None]
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "DELETE FROM objects WHERE grp = ? AND plural = ? AND namespace = ? AND name = ?", gone
            )
            connection.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)", there)
            connection.execute("UPDATE state SET version = ?", (group[-1][4],))
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def flush_now(self) -> None:
        """Commit what has gathered before any event loop runs."""
        group, self._group = self._group, []
        if group:
            self._commit(group)
            self.store.settle(group[-1][4])

    async def close(self) -> None:
        """Keep what is on its way, and let go of the file."""
        try:
            await self.settled()
        finally:
            self._thread.shutdown()
            self._connection.close()


def _not_kept(path: Path, problem: sqlite3.Error) -> InternalServerError:
    return InternalServerError(
        f"The write was not kept, because {path.name} could not be written: {problem}. Nothing has changed."
    )


def _opened(path: Path) -> sqlite3.Connection:
    try:
        # It may hold Secrets; what SQLite keeps beside it gets the same permissions.
        with suppress(OSError):
            path.touch(mode=0o600, exist_ok=False)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit is on the disk before the writer is told, so that even a power failure loses nothing.
        connection.execute("PRAGMA synchronous = FULL")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (layout,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and (application, layout) != (_APPLICATION, _LAYOUT):
            connection.close()
            raise StateFileError(
                f"{path} is a SQLite file, but none of an embedded cluster in this layout. Name another file."
            )
        if not tables:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "CREATE TABLE objects (grp TEXT, plural TEXT, namespace TEXT, name TEXT, version INTEGER, "
                "body BLOB, PRIMARY KEY (grp, plural, namespace, name)) WITHOUT ROWID"
            )
            connection.execute("CREATE TABLE state (version INTEGER)")
            connection.execute("INSERT INTO state VALUES (0)")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")
            connection.execute("COMMIT")
    except sqlite3.OperationalError as problem:
        # The low byte of an extended result code is the primary one; errors of the binding itself have none.
        primary = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StateFileError(
                f"{path} is in use by another process. End that one, or name another file."
            ) from None
        raise StateFileError(f"{path} cannot be opened: {problem}.") from None
    except sqlite3.DatabaseError as problem:
        raise StateFileError(f"{path} is no SQLite file: {problem}. Name another file.") from None
    return connection
