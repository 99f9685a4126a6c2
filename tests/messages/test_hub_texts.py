"""The texts of remedies, which messages of every catalogue end with."""

from __future__ import annotations

import pytest

from closeknit.hub.problems import Code, Fact, Meant, OneOf, Range

LEVELS = ("block", "rack", "zone")
TEN = tuple(f"level-{i}" for i in range(10))


@pytest.mark.parametrize(
    ("remedy", "text"),
    [
        pytest.param(
            OneOf("racks", LEVELS), 'Did you mean "rack"? Allowed: "block", "rack", "zone".', id="one is near"
        ),
        pytest.param(OneOf("x", LEVELS), 'Allowed: "block", "rack", "zone".', id="none is near"),
        pytest.param(OneOf("x", ("y", "x", "y")), 'Did you mean "x"? Allowed: "x", "y".', id="twice"),
        pytest.param(OneOf("x", ()), "None is given; add it, or name none.", id="nothing to choose from"),
        pytest.param(OneOf("x", (), None), "Create it, or name one that is there.", id="choices not known"),
        pytest.param(
            OneOf("x", TEN),
            'Allowed: "level-0", "level-1", "level-2", "level-3", "level-4", "level-5", "level-6", "level-7" and 2 more.',
            id="a long list",
        ),
        pytest.param(
            OneOf("x", LEVELS, 30), 'Allowed: "block", "rack", "zone" and 30 more.', id="a list that was cut"
        ),
        pytest.param(Meant("rak", LEVELS), 'Did you mean "rack"?', id="a word that was meant"),
        pytest.param(
            Meant("x", LEVELS), 'Allowed: "block", "rack", "zone".', id="a word that none is near to"
        ),
        pytest.param(Range(1, 4), "Allowed are 1 to 4.", id="several numbers"),
        pytest.param(Range(1, 1), "Write 1.", id="a single number"),
        pytest.param(Range(2, 1), "No number is possible here; leave it out.", id="no number"),
        pytest.param(
            tuple(f"n{i}" for i in range(102)),
            ", ".join(f'"n{i}"' for i in range(100)) + " and 2 more",
            id="very many names",
        ),
    ],
)
def test_remedy(remedy: Fact, text: str) -> None:
    assert Code("example", "{remedy}").at((), remedy=remedy).message == text
