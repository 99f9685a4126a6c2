from __future__ import annotations

import os
from pathlib import Path

import pytest

from closeknit.hub.copying import replace
from closeknit.testing.control_plane.programs import (
    ETCD,
    KUBERNETES,
    GoMissingError,
    ProgramError,
    Release,
    built,
    cache,
    kept_folder,
)

TOY = Release("toy", "example.invalid/toy", "v1.2.3", (("toy", "example.invalid/toy/cmd"),))


def go_that(folder: Path, script: str) -> None:
    """A stand-in for Go."""
    go = folder / "go"
    go.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    go.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH, and a cache that is empty."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("CLOSEKNIT_CACHE", str(tmp_path / "cache"))
    return folder


def test_without_go_it_is_said_what_is_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(path))

    with pytest.raises(GoMissingError, match="no go on the PATH to build toy"):
        built(TOY, lambda _: None)


def test_what_go_says_when_it_fails_is_told(path: Path) -> None:
    go_that(path, "echo 'no such module' >&2; exit 1")

    with pytest.raises(ProgramError, match=r"`.*go mod` failed in .*\nno such module"):
        built(TOY, lambda _: None)


def test_a_program_is_built_once(path: Path) -> None:
    # The last but one argument of a build is the file to write.
    go_that(
        path,
        '[ "$1" = mod ] && exit 0; for last; do [ "$previous" = -o ] && echo built > "$last"; previous="$last"; done',
    )
    said: list[str] = []

    folder = built(TOY, said.append)
    again = built(TOY, said.append)

    assert folder == again == cache() / "toy" / "v1.2.3" / "bin"
    assert (folder / "toy").read_text(encoding="utf-8") == "built\n"
    assert len(said) == 2


def test_a_build_that_fails_half_way_leaves_no_program(path: Path) -> None:
    go_that(
        path,
        '[ "$1" = mod ] && exit 0; for last; do [ "$previous" = -o ] && echo half > "$last"; previous="$last"; done; exit 2',
    )

    with pytest.raises(ProgramError):
        built(TOY, lambda _: None)

    assert list((cache() / "toy" / "v1.2.3" / "bin").iterdir()) == []


def test_folders_of_the_module_are_kept_beside_a_program_that_was_built_before(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "downloaded/config/crds").mkdir(parents=True)
    (tmp_path / "downloaded/config/crds/one.yaml").write_text("kind: One", encoding="utf-8")
    go_that(path, f'[ "$1" = list ] && echo {tmp_path}/downloaded; [ "$1" != build ]')
    program = cache() / "toy/v1.2.3/bin/toy"
    program.parent.mkdir(parents=True)
    program.touch()

    kept = kept_folder(replace(TOY, kept=("config/crds",)), "config/crds")

    assert [file.read_text(encoding="utf-8") for file in kept.iterdir()] == ["kind: One"]


def test_every_release_is_pinned() -> None:
    assert "require go.etcd.io/etcd/server/v3 v3.6.8\n" in ETCD.definition()
    definition = KUBERNETES.definition()
    assert "require k8s.io/kubernetes v1.36.4\n" in definition
    assert "replace k8s.io/client-go => k8s.io/client-go v0.36.4\n" in definition
    assert definition.count("replace ") == 31
