"""Sets of fields behave as sets of paths do."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.kube.embedded import ownership
from closeknit.kube.embedded.ownership import SELF

Paths = frozenset[tuple[str, ...]]
PATHS: st.SearchStrategy[Paths] = st.frozensets(
    st.lists(st.sampled_from(["f:a", "f:b", "f:c"]), min_size=1, max_size=3).map(tuple), max_size=8
)


def nested(paths: Paths) -> dict[str, Any]:
    """Paths in the nesting that ``managedFields`` has."""
    root: dict[str, Any] = {}
    for path in paths:
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node[SELF] = {}
    return _closed(root)


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    inner = {key: _closed(value) for key, value in node.items() if key != SELF}
    return {**inner, SELF: {}} if SELF in node and inner else inner


def flat(fields: dict[str, Any], path: tuple[str, ...] = ()) -> Paths:
    """The paths of a set, read without the code that is tested."""
    found: set[tuple[str, ...]] = set()
    for key, inner in fields.items():
        if key == SELF:
            found.add(path)
        elif inner:
            found |= flat(inner, (*path, key))
        else:
            found.add((*path, key))
    return frozenset(found)


@given(PATHS)
def test_paths_come_back(paths: Paths) -> None:
    assert flat(nested(paths)) == paths


@given(PATHS, PATHS)
def test_union(one: Paths, other: Paths) -> None:
    assert flat(ownership.union(nested(one), nested(other))) == one | other


@given(PATHS, PATHS)
def test_difference(one: Paths, other: Paths) -> None:
    assert flat(ownership.difference(nested(one), nested(other))) == one - other


@given(PATHS, PATHS)
def test_intersection(one: Paths, other: Paths) -> None:
    assert flat(ownership.intersection(nested(one), nested(other))) == one & other


@given(PATHS, PATHS)
def test_sets_never_change(one: Paths, other: Paths) -> None:
    left, right = nested(one), nested(other)
    for operation in (ownership.union, ownership.difference, ownership.intersection):
        operation(left, right)

    assert (flat(left), flat(right)) == (one, other)


@given(PATHS)
def test_every_member_is_shown(paths: Paths) -> None:
    shown = ["".join(f".{step[2:]}" for step in path) for path in paths]

    assert sorted(ownership.members(nested(paths))) == sorted(shown)
