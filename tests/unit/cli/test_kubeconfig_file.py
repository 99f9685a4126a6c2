"""The kubeconfig of ``closeknit up``: of several that start at the same moment, one has it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from closeknit.cli import kubeconfig_file
from closeknit.cli.kubeconfig_file import require_free, written
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli
from tests.kit.problems import finding, findings


class Server:
    """Writes its name where a server writes how it is reached."""

    def __init__(self, name: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._name, self._meanwhile = name, meanwhile

    def write_kubeconfig(self, path: Path) -> None:
        self._meanwhile()
        path.write_text(content(self._name))

    def remove_kubeconfig(self, path: Path) -> None:
        if path.read_text() == content(self._name):
            path.unlink()


def content(name: str) -> str:
    return json.dumps({"current-context": "closeknit", "clusters": [{"cluster": {"server": name}}]})


@contextmanager
def up(name: str, file: Path, meanwhile: Callable[[], object] = lambda: None) -> Iterator[None]:
    with written(Server(name, meanwhile), file):  # type: ignore[arg-type]
        yield


@contextmanager
def refused(file: Path, server: str) -> Iterator[None]:
    """The file belongs to the cluster on this server, which a process serves."""
    with pytest.raises(InvalidError) as error:
        yield
    facts = {"file": str(file), "process": "another process", "server": server}
    assert findings(error.value.problems) == [finding(cli.KUBECONFIG_IN_USE, "--kubeconfig", **facts)]


@pytest.fixture(params=["nothing is there", "something is left of an earlier run", "it is a link to nowhere"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    made = tmp_path / "kubeconfig"
    if "left" in request.param:
        made.write_text(content("earlier"))
    elif "link" in request.param:
        made.symlink_to(tmp_path / "nowhere")
    return made


def test_it_is_there_and_taken_until_the_end(file: Path) -> None:
    with up("first", file):
        assert file.read_text() == content("first")
        with refused(file, "first"):
            require_free(file)
        assert [each.name for each in file.parent.iterdir()] == ["kubeconfig"]

    assert list(file.parent.iterdir()) == []
    require_free(file)


def test_one_that_starts_while_another_is_about_to_write_keeps_it(file: Path) -> None:
    with ExitStack() as first:
        second = up("second", file, lambda: first.enter_context(up("first", file)))
        with refused(file, "first"), second:
            pass

        assert file.read_text() == content("first")
        assert [each.name for each in file.parent.iterdir()] == ["kubeconfig"]


def once_before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, what: Callable[[], object]) -> None:
    """Let something happen just before a function is called for the first time."""
    function, done = getattr(owner, name), list[bool]()

    def called(*arguments: Any) -> Any:
        if not done:
            done.append(True)
            what()
        return function(*arguments)

    monkeypatch.setattr(owner, name, called)


def test_one_that_starts_after_another_has_looked_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kubeconfig"
    with ExitStack() as first:
        once_before(monkeypatch, os, "link", lambda: first.enter_context(up("first", file)))
        with refused(file, "first"), up("second", file):
            pass

        assert file.read_text() == content("first")


def test_what_is_left_is_replaced_by_one_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content("earlier"))

    def third() -> None:
        with refused(file, "earlier"), up("third", file):
            pass

    once_before(monkeypatch, Path, "replace", third)

    with up("second", file):
        assert file.read_text() == content("second")


def test_one_that_looks_at_what_another_has_replaced_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content("earlier"))
    with ExitStack() as first:
        # It has opened what is left, and not locked it yet; its own file it has locked before.
        locking = kubeconfig_file._locked
        turns = iter([False, True])

        def locked(opened: Any) -> bool:
            if next(turns, False):
                monkeypatch.setattr(kubeconfig_file, "_locked", locking)
                first.enter_context(up("first", file))
            return locking(opened)

        monkeypatch.setattr(kubeconfig_file, "_locked", locked)
        with refused(file, "first"), up("second", file):
            pass

        assert file.read_text() == content("first")


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)

    with up("first", tmp_path / "kubeconfig"):
        assert (tmp_path / "kubeconfig").read_text() == content("first")
