"""What is said of an API server, of kubeconfig files and of the embedded cluster: every text once.

Where the embedded cluster refuses a write, it speaks in the words of kube-apiserver; ``tests/conformance`` compares
those with kube-apiserver itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import aclosing
from pathlib import Path
from random import Random

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.sqlite import SqliteJournal, StateFileError
from closeknit.kube.errors import DeadlineExceededError, InternalServerError, Status, UnavailableError
from closeknit.kube.leases import Terms
from closeknit.kube.resources import NODES, PODS
from closeknit.kube.rest import ConfigurationError, connect, load_access, tables
from closeknit.kube.rest.access import Connection, FixedAccess
from closeknit.kube.rest.decoding import decoder
from closeknit.kube.start_order import missing, parse
from closeknit.live.waiting import wait
from closeknit.testing.clock import HandClock
from tests.unit.kube.rest.serving import Script, serving, silent, stream

KUBECONFIG = {
    "current-context": "main",
    "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("main", "other")],
    "clusters": [{"name": "c", "cluster": {"server": "https://kube.test"}}],
    "users": [{"name": "u", "user": {}}],
}


@pytest.mark.parametrize(
    ("content", "context", "text"),
    [
        pytest.param(None, "", "There is no kubeconfig file PATH.", id="a file that is not there"),
        pytest.param(
            "",
            "",
            "PATH: this is no kubeconfig, or a part of it is missing (...).",
            id="an empty file",
        ),
        pytest.param(
            json.dumps(KUBECONFIG),
            "mian",
            "PATH: there is no context 'mian'. The contexts are: main, other. Did you mean 'main'?",
            id="a context that is not there",
        ),
    ],
)
def test_a_kubeconfig(tmp_path: Path, content: str | None, context: str, text: str) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigurationError) as raised:
        load_access(kubeconfig=str(path), context=context)

    # The library that reads it words what stands in parentheses.
    pattern = re.escape(text.replace("PATH", str(path))).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, str(raised.value))


@pytest.mark.parametrize(
    ("context", "text"),
    [
        pytest.param(
            "",
            "No cluster is configured: $KUBECONFIG is not set, FILE does not exist, and this does not run in a pod."
            " Name a file with --kubeconfig.",
            id="nothing anywhere",
        ),
        pytest.param(
            "x",
            "There is no kubeconfig file to find the context 'x' in: $KUBECONFIG is not set, and FILE does not"
            " exist.",
            id="only a context",
        ),
    ],
)
def test_no_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: str, text: str) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)

    with pytest.raises(ConfigurationError) as raised:
        load_access(context=context, environ={})

    assert str(raised.value) == text.replace("FILE", str(tmp_path / ".kube" / "config"))


async def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_text("no certificate")
    cluster = {"server": "https://kube.test", "certificate-authority": str(authority)}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({**KUBECONFIG, "clusters": [{"name": "c", "cluster": cluster}]}))

    with pytest.raises(ConfigurationError) as raised:
        await load_access(kubeconfig=str(path)).connection()

    assert str(raised.value).startswith("The certificates for https://kube.test cannot be read: ")


def test_answers_of_a_server() -> None:
    assert Status.read(None, code=503).message == "The server answered with status 503."
    with pytest.raises(InternalServerError, match=r"^The server's answer cannot be read as Pod: "):
        decoder(PODS, None).event(b"{")
    with pytest.raises(InternalServerError, match=r"^The server answered with something that is no table: "):
        tables.read(b"<html>")
    with pytest.raises(InternalServerError, match=r"^The watch sent something that is no event: "):
        tables.read_event(b"{")
    with pytest.raises(InternalServerError, match=r"^The watch sent something that is no event: 'NEW'$"):
        tables.read_event(b'{"type": "NEW", "object": {}}')


async def test_a_server_that_is_not_there() -> None:
    async with connect(FixedAccess(Connection("http://127.0.0.1:1")), component="test") as api:
        with pytest.raises(UnavailableError) as raised:
            await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})

    assert str(raised.value) == "POST /api/v1/nodes: http://127.0.0.1:1 cannot be reached: Connection refused"


async def test_a_server_that_does_not_answer() -> None:
    async with (
        serving(Script([silent()])) as address,
        connect(FixedAccess(Connection(address)), component="test", deadline=0.05) as api,
    ):
        with pytest.raises(DeadlineExceededError) as raised:
            await api.get(NODES, "n")

    assert str(raised.value) == "GET /api/v1/nodes/n: there was no answer within 0.05 s."


async def test_a_watch_with_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.kube.rest.transport._LINE_LIMIT", 1000)
    async with (
        serving(Script([stream(*[b"x" * 500] * 10)])) as address,
        connect(FixedAccess(Connection(address)), component="test") as api,
        aclosing(api.watch(NODES, resource_version="1")) as events,
    ):
        with pytest.raises(UnavailableError) as raised:
            await anext(events)

    assert str(raised.value).endswith(": the server sent a line of over 1000 bytes.")


async def test_state_files(tmp_path: Path) -> None:
    notes, other, nowhere = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "nowhere" / "state.db"
    notes.write_text("These are notes, and long enough to be looked at as a database file." * 20)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    used = tmp_path / "state.db"
    cluster = EmbeddedCluster(keeper=SqliteJournal(used))
    texts = {
        notes: f"{notes} is no SQLite file: file is not a database. Name another file.",
        other: f"{other} is a SQLite file, but none of an embedded cluster in this layout. Name another file.",
        nowhere: f"{nowhere} cannot be opened: unable to open database file.",
        used: f"{used} is in use by another process. End that one, or name another file.",
    }

    for file, text in texts.items():
        with pytest.raises(StateFileError) as refused:
            SqliteJournal(file)
        assert str(refused.value) == text
    await cluster.close()


async def test_pods_that_start_after_others(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        ValueError, match="'a' does not name pods and how many of them must be ready, as in a-0,a-1:2"
    ):
        parse("a")
    assert missing(parse("a,b:2"), lambda _: None) == ["0 of 2 ready among a, b"]
    clock = HandClock()
    cluster = EmbeddedCluster([], clock=clock, dice=Random(1))
    waiting = asyncio.create_task(wait(cluster, "default", parse("a:1"), clock=clock))
    await clock.advance(5)
    waiting.cancel()
    await asyncio.wait([waiting])
    await cluster.close()

    assert capsys.readouterr().err == "Waiting: 0 of 1 ready among a.\n"


def test_terms_of_a_lease() -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the text is compared)
        Terms(duration=10, renew_within=10, every=2)

    assert str(refused.value) == (
        "duration (10) must be longer than renew_within (10), and that longer than every (2),"
        " or two could hold one lease."
    )
