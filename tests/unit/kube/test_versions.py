from __future__ import annotations

import pytest

from closeknit.kube.versions import Versions, number_of


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("", None),
        ("a1", None),
        ("-1", None),
        ("1_000", None),
        (" 7", None),
        ("9" * 5000, None),
    ],
)
def test_a_version_is_a_number_or_opaque(version: str, number: int | None) -> None:
    assert number_of(version) == number


def test_deletions_are_remembered_until_every_change_up_to_them_is_known() -> None:
    versions: Versions[str] = Versions()
    versions.delete("a", 5)
    versions.delete("b", 9)
    versions.complete(7)
    assert list(versions._tombstones) == ["b"]
    assert not versions.put("a", 6)
    assert not versions.put("b", 8)
    assert versions.put("b", 10)
    assert not versions._tombstones


def test_an_older_bookmark_does_not_lower_the_floor() -> None:
    versions: Versions[str] = Versions()
    versions.complete(7)
    versions.complete(5)
    assert not versions.put("a", 6)


def test_an_object_of_an_opaque_version_is_forgotten() -> None:
    versions: Versions[str] = Versions()
    versions.put("a", 5)
    versions.forget("a")
    assert versions.put("a", 4)


def test_the_oldest_of_too_many_deletions_raises_the_floor() -> None:
    versions: Versions[int] = Versions(most_tombstones=2)
    for number in range(1, 5):
        versions.delete(number, 10 * number)
    assert list(versions._tombstones) == [3, 4]
    assert versions.floor == 20


def test_an_object_is_deleted_in_its_last_version_or_a_later_one() -> None:
    versions: Versions[str] = Versions()
    versions.put("a", 5)
    assert not versions.delete("a", 4)
    assert versions.known == {"a": 5}
    assert versions.delete("a", 5)
    assert versions.known == {}
    assert not versions.delete("a", 5)
