from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.admission.patches import difference
from closeknit.kube.embedded.patches import json_patch

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a/b", "~"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/c", "~d"]), inner),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["a", "b/c", "~d", ""]), _JSON, max_size=4)


@given(_OBJECTS, _OBJECTS)
def test_the_operations_make_the_new_object_of_the_old_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert json_patch(old, list(difference(old, new))) == new


@given(_OBJECTS)
def test_nothing_is_done_where_nothing_changes(obj: dict[str, Any]) -> None:
    assert list(difference(obj, obj)) == []
