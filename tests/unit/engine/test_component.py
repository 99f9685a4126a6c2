"""Pod sets that a search has confined to domains, found again by domain."""

from __future__ import annotations

from closeknit.engine import Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.component import Content, Contents
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    b1
      r1
        x1: 4
      r2
        x2: 4
""")


def test_contents_are_found_by_every_domain_around_them_until_they_are_cut() -> None:
    groups = [group(name, pods(f"p{name}", 2), required="rack") for name in "abc"]
    compiled = Engine(CLUSTER)._compile(request("w", *groups), Goal.WISHES)
    contents = Contents(compiled.tree)
    first = Content(1, 0, compiled.pod_sets[0], ())
    second = Content(1, 1, compiled.pod_sets[1], ())
    wide = Content(0, 0, compiled.pod_sets[2], ())
    contents.add([first, second])
    assert contents.outermost() == [(1, 0, [first]), (1, 1, [second])]
    contents.add([wide])

    assert contents.inside(1, 0) == [first]
    assert contents.inside(0, 0) == contents.inside(-1, 0) == [first, second, wide]
    assert contents.outermost() == [(0, 0, [wide, first, second])]
    contents.cut(1)
    assert (contents.inside(0, 0), contents.inside(1, 1), len(contents)) == ([first], [], 1)
