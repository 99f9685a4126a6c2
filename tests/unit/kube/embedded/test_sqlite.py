"""State in a file: nothing that was acknowledged is lost, and nothing is there by half."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.sqlite import SqliteJournal, StateFileError
from closeknit.kube.port import Change, MergePatch, Selection
from closeknit.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource

DEFAULT = Selection(namespace="default")
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
WIDGET_DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


async def contents(cluster: EmbeddedCluster) -> dict[str, dict[str, str]]:
    page = await cluster.list(CONFIG_MAPS, DEFAULT)
    return {item["metadata"]["name"]: item.get("data", {}) for item in page.items}


async def test_everything_is_there_again_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    before = EmbeddedCluster([WIDGET_DEFINITION], keeper=SqliteJournal(file))
    made = await before.create(CONFIG_MAPS, config_map("a", k="1"))
    await before.create(CONFIG_MAPS, config_map("b"))
    await before.delete(CONFIG_MAPS, "b", namespace="default")
    await before.create(WIDGETS, {"metadata": {"name": "w", "namespace": "default"}, "size": 3})
    version = (await before.list(CONFIG_MAPS)).resource_version
    await before.close()

    after = EmbeddedCluster([WIDGET_DEFINITION], keeper=SqliteJournal(file))

    assert await after.get(CONFIG_MAPS, "a", namespace="default") == made
    assert await contents(after) == {"a": {"k": "1"}}
    assert (await after.get(WIDGETS, "w", namespace="default"))["size"] == 3
    assert (await after.list(CUSTOM_RESOURCE_DEFINITIONS)).resource_version == version
    changed = await after.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "2"}}), namespace="default")
    assert int(changed["metadata"]["resourceVersion"]) > int(version)
    await after.close()


async def test_a_newer_definition_takes_the_place_of_the_one_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    before = EmbeddedCluster([WIDGET_DEFINITION], keeper=SqliteJournal(file))
    old = await before.get(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    await before.close()
    same = EmbeddedCluster([WIDGET_DEFINITION], keeper=SqliteJournal(file))
    unchanged = await same.get(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    await same.close()
    spec = {
        **WIDGET_DEFINITION["spec"],
        "names": {**WIDGET_DEFINITION["spec"]["names"], "shortNames": ["wd"]},
    }
    after = EmbeddedCluster([{**WIDGET_DEFINITION, "spec": spec}], keeper=SqliteJournal(file))

    assert unchanged == old
    assert "wd" in {name for one in await after.resources() for name in one.short_names}
    await after.close()


async def test_a_watch_from_before_the_restart_has_to_list_again_unless_nothing_was_missed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "state.db"
    before = EmbeddedCluster(keeper=SqliteJournal(file))
    old = (await before.create(CONFIG_MAPS, config_map("a")))["metadata"]["resourceVersion"]
    last = (await before.create(CONFIG_MAPS, config_map("b")))["metadata"]["resourceVersion"]
    await before.close()

    after = EmbeddedCluster(keeper=SqliteJournal(file))
    with pytest.raises(errors.GoneError):
        await anext(after.watch(CONFIG_MAPS, resource_version=old))
    await after.create(CONFIG_MAPS, config_map("c"))
    event = await anext(after.watch(CONFIG_MAPS, resource_version=last))

    assert isinstance(event, Change)
    assert event.object["metadata"]["name"] == "c"
    await after.close()


async def test_writers_at_the_same_time_share_commits(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(keeper=SqliteJournal(tmp_path / "state.db"))
    await asyncio.gather(*(cluster.create(CONFIG_MAPS, config_map(f"c{number}")) for number in range(200)))

    assert len(await contents(cluster)) == 200
    await cluster.close()


async def test_a_full_disk_is_an_error_to_the_writer_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    journal = SqliteJournal(file)
    cluster = EmbeddedCluster(keeper=journal)
    watch = cluster.watch(CONFIG_MAPS, DEFAULT, resource_version=str(journal.store.version))
    acknowledged: dict[str, dict[str, str]] = {}
    (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
    journal._connection.execute(f"PRAGMA max_page_count = {pages + 20}")

    refused = ""
    while not refused:
        name = f"c{len(acknowledged)}"
        try:
            await cluster.create(CONFIG_MAPS, config_map(name, text="x" * 2000))
            acknowledged[name] = {"text": "x" * 2000}
        except errors.InternalServerError as error:
            refused = str(error)

    assert "full" in refused
    assert acknowledged
    assert await contents(cluster) == acknowledged
    with pytest.raises(errors.InternalServerError):
        await cluster.patch(
            CONFIG_MAPS, "c0", MergePatch({"data": {"text": "y" * 90_000}}), namespace="default"
        )
    assert await contents(cluster) == acknowledged
    journal._connection.execute(f"PRAGMA max_page_count = {pages + 2000}")
    await cluster.create(CONFIG_MAPS, config_map("later"))
    acknowledged["later"] = {}
    seen = [(await anext(watch)) for _ in acknowledged]
    assert [event.object["metadata"]["name"] for event in seen if isinstance(event, Change)] == list(
        acknowledged
    )
    await watch.aclose()
    await cluster.close()

    again = EmbeddedCluster(keeper=SqliteJournal(file))
    assert await contents(again) == acknowledged
    await again.close()


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("These are notes, and long enough to be looked at as a database file." * 20)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()

    reasons = {
        text: sqlite3.DatabaseError,
        other: type(None),
        tmp_path / "nowhere" / "state.db": sqlite3.OperationalError,
    }
    for file, reason in reasons.items():
        with pytest.raises(StateFileError) as refused:
            SqliteJournal(file)
        assert str(file) in str(refused.value)
        assert type(refused.value.__context__) is reason


async def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(keeper=SqliteJournal(tmp_path / "state.db"))

    with pytest.raises(StateFileError) as refused:
        SqliteJournal(tmp_path / "state.db")
    assert str(refused.value.__context__) == "database is locked"
    await cluster.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.sqlite import SqliteJournal
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import CONFIG_MAPS

async def write(cluster, worker, start):
    for number in range(start, 10**9):
        name = f"w{worker}-{number % 50}"
        text = f"{worker}:{number}:" + "x" * (number * 37 % 3000)
        body = {"metadata": {"name": name, "namespace": "default"}, "data": {"text": text, "length": str(len(text))}}
        if number % 50 == 7 and number > 50:
            await cluster.delete(CONFIG_MAPS, name, namespace="default")
            print("-", name, number, flush=True)
            await cluster.create(CONFIG_MAPS, body)
        elif number >= 50:
            await cluster.patch(CONFIG_MAPS, name, MergePatch({"data": body["data"]}), namespace="default")
        else:
            await cluster.create(CONFIG_MAPS, body)
        print("+", name, number, flush=True)

async def main():
    cluster = EmbeddedCluster(keeper=SqliteJournal(Path(sys.argv[1])))
    page = await cluster.list(CONFIG_MAPS)
    for item in page.items:
        await cluster.delete(CONFIG_MAPS, item["metadata"]["name"], namespace="default")
    print("ready", flush=True)
    await asyncio.gather(*(write(cluster, worker, 0) for worker in range(4)))

asyncio.run(main())
"""


@pytest.mark.slow
async def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Runs as often as CLOSEKNIT_CRASHES says, 20 times by default."""
    dice = random.Random(7)
    file = tmp_path / "state.db"
    for _ in range(int(os.environ.get("CLOSEKNIT_CRASHES", "20"))):
        acknowledged = await asyncio.to_thread(_write_and_kill, file, dice.uniform(0.01, 0.6))
        cluster = EmbeddedCluster(keeper=SqliteJournal(file))
        found = await contents(cluster)
        for name, (number, there) in acknowledged.items():
            # The write that was under way may have happened, with the next number or as a deletion before it.
            if name in found:
                worker, at, _ = found[name]["text"].split(":")
                assert f"w{worker}-{int(at) % 50}" == name
                assert int(at) >= number
                assert int(at) <= number + 50
            else:
                assert not there or (number + 50) % 50 == 7
        assert all(int(data["length"]) == len(data["text"]) for data in found.values())
        await cluster.close()


def _write_and_kill(file: Path, seconds: float) -> dict[str, tuple[int, bool]]:
    """Let a process write for so many seconds, kill it, and return what it said was written.

    It speaks into a file: a pipe that nobody reads fills up and stops the writer.
    """
    said = file.with_suffix(".said")
    with (
        said.open("wb") as output,
        subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=output) as process,
    ):
        while not said.read_bytes().startswith(b"ready\n"):
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    acknowledged: dict[str, tuple[int, bool]] = {}
    # What follows the last line break was cut off by the signal: nobody was told of that write.
    for line in said.read_text().rpartition("\n")[0].splitlines()[1:]:
        sign, name, number = line.split()
        acknowledged[name] = (int(number), sign == "+")
    return acknowledged
