"""What the tests of each peer have in common."""

from __future__ import annotations

import pytest

from tests.peers import records
from tests.peers.comparing import as_expected, same
from tests.peers.records import UNREVIEWED, Case
from tests.peers.running import run


def parameters(peer: str) -> list[object]:
    """The cases of a peer, each under its promise and where it comes from."""
    return [
        pytest.param(case, id=f"{case.id} ({file.stem}: {case.upstream})")
        for file, case in records.cases(peer)
    ]


def check(case: Case) -> None:
    """The verdict is true: what is the same agrees with the peer, what is not is what was recorded."""
    outcome = run(case)
    if case.verdict == "same":
        assert as_expected(case, outcome), _shown(case, outcome)
    else:
        assert case.closeknit is not None
        assert same(case, case.closeknit, outcome), _shown(case, outcome)
        assert not as_expected(case, outcome), "It is the same by now: make peer-tests RECORD=1"


def check_records(peer: str) -> None:
    """Records are complete, reviewed, and written in the one way in which they are recorded."""
    cases = [case for _, case in records.cases(peer)]
    assert len({case.id for case in cases}) == len(cases)
    for case in cases:
        units = {unit.name for unit in case.units}
        assert case.expected.keys() <= units, case.id
        if case.verdict == "same":
            assert (case.cause, case.reason, case.closeknit) == ("", "", None), case.id
        else:
            assert case.cause != UNREVIEWED, case.id
            assert case.cause in records.causes(), case.id
    for file in records.files(peer):
        assert records.written(records.read(file)) == file.read_text(encoding="utf-8"), file.name


def _shown(case: Case, outcome: records.Outcome) -> str:
    lines = [f"{case.upstream}"]
    for name, expected in case.expected.items():
        lines.append(
            f"  {name}: expected {expected}, recorded {(case.closeknit or {}).get(name)}, now {outcome[name]}"
        )
    return "\n".join(lines)
