"""Wire shapes as data: what they list, and that every one can be checked and written."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType

import msgspec
import pytest

from closeknit import apis
from closeknit.apis import core_v1
from closeknit.apis.wire import Wire, plain
from closeknit.dialects.wire.decoding import decode

MODULES: tuple[ModuleType, ...] = tuple(
    import_module(f"{apis.__name__}.{found.name}") for found in pkgutil.iter_modules(apis.__path__)
)
SHAPES = [
    shape
    for module in MODULES
    for _, shape in inspect.getmembers(module, inspect.isclass)
    if issubclass(shape, Wire) and shape.__module__ == module.__name__
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.__name__} is sound")
def test_a_shape_never_lists_a_field_as_used_and_unused(shape: type[Wire]) -> None:
    used = {field.encode_name for field in msgspec.structs.fields(shape)}

    assert not used & shape.unused
    assert all(name[0].isalpha() for name in used | shape.unused)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.__name__} can be checked")
def test_every_shape_can_be_checked(shape: type[Wire]) -> None:
    required = [field.encode_name for field in msgspec.structs.fields(shape) if field.required]
    value, problems = decode(shape, {})

    assert [problem.where for problem in problems] == required
    assert (value is None) == bool(required)


def test_a_value_is_written_as_it_was_read() -> None:
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "1", "memory": 5}}}],
            "nodeName": "n",
        },
    }
    value, problems = decode(core_v1.Pod, content)

    assert problems == ()
    assert plain(value) == content
