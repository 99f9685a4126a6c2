"""What ``-f`` accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.cli.loading import sources_of
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli
from tests.kit.problems import finding, findings


def test_a_directory_gives_its_manifests_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "drawing.txt", ".hidden"):
        (tmp_path / name).write_text(name)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "d.yaml").write_text("d")

    assert [source.content for source in sources_of([str(tmp_path)])] == [b"a.yaml", b"b.yml", b"c.json"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a")

    (tmp_path / "inner").mkdir()
    again = str(tmp_path / "inner" / ".." / "a.yaml")

    names = [source.name for source in sources_of([str(file), str(tmp_path), again])]
    assert names == [str(file)]


def test_any_file_may_be_named_whatever_it_ends_in(tmp_path: Path) -> None:
    (tmp_path / "manifest.txt").write_text("a")

    assert [source.content for source in sources_of([str(tmp_path / "manifest.txt")])] == [b"a"]


def test_everything_that_cannot_be_read_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("")
    (tmp_path / "empty").mkdir()
    missing, empty = str(tmp_path / "node.yaml"), str(tmp_path / "empty")

    with pytest.raises(InvalidError) as refused:
        list(sources_of([missing, empty, "-", "-"]))

    assert set(findings(refused.value.problems)) == {
        finding(cli.NO_SUCH_FILE, missing, remedy=' Did you mean "nodes.yaml"?'),
        finding(cli.EMPTY_DIRECTORY, empty, suffixes=".yaml, .yml, .json"),
        finding(cli.STDIN_TWICE, "-f -"),
    }


def test_a_directory_is_no_file_to_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "dir.yaml").mkdir()

    with pytest.raises(InvalidError):
        list(sources_of([str(tmp_path)]))


def test_no_more_is_read_than_a_source_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.cli.loading.LARGEST", 10)

    # One byte more tells who parses it that there is more.
    assert [source.content for source in sources_of(["/dev/zero"])] == [bytes(11)]
