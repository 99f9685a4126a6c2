"""Durations are those of Go's ``time.ParseDuration``, whose documentation and tests the facts are from."""

from __future__ import annotations

import pytest

from closeknit.dialects.core.durations import duration_problems, seconds
from closeknit.hub.sentences import core


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("0", 0.0),
        ("-0", 0.0),
        ("+0", 0.0),
        ("5s", 5.0),
        ("30s", 30.0),
        ("1478s", 1478.0),
        ("-5s", -5.0),
        ("+5s", 5.0),
        ("5.0s", 5.0),
        ("5.6s", 5.6),
        ("5.s", 5.0),
        (".5s", 0.5),
        ("1.0s", 1.0),
        ("1.004s", 1.004),
        ("100.00100s", 100.001),
        ("10ns", 1e-8),
        ("11us", 1.1e-5),
        ("12\u00b5s", 1.2e-5),
        ("12\u03bcs", 1.2e-5),
        ("13ms", 0.013),
        ("14s", 14.0),
        ("15m", 900.0),
        ("16h", 57600.0),
        ("3h30m", 12600.0),
        ("10.5s4m", 250.5),
        ("-2m3.4s", -123.4),
        ("39h9m14.425s", 140954.425),
        ("52763797000ns", 52.763797),
        ("0.3333333333333333333h", 1199.999999999),
        ("0.100000000000000000000h", 360.0),
        ("0.9ns", 0.0),
        ("9223372036854775807ns", 9223372036.854775807),
        ("9223372036854775.807us", 9223372036.854775807),
        ("9223372036s854ms775us807ns", 9223372036.854775807),
        ("-9223372036854775808ns", -9223372036.854775808),
        ("000000000000000000000000000000000001s", 1.0),
    ],
)
def test_what_go_accepts_has_the_length_that_go_gives_it(text: str, long: float) -> None:
    assert seconds(text) == pytest.approx(long, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "-",
        "+",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1e3s",
        "1d",
        "1S",
        " 1s",
        "1s ",
        "1 s",
        "1h-30m",
        "--1s",
        "\uff11s",
        "soon",
        "9223372036854775808ns",
        "9223372036854775.808us",
        "-9223372036854775809ns",
        "3000000h",
        "9" * 10_000 + "s",
        "\x85\x85",
    ],
)
def test_what_go_refuses_is_no_duration(text: str) -> None:
    assert seconds(text) is None
    assert [problem.code for problem in duration_problems((), text)] == [core.NOT_A_DURATION]


@pytest.mark.parametrize(("text", "refused"), [("-1ns", True), ("-0s", False), ("0", False), ("1ns", False)])
def test_less_than_nothing_is_refused_unless_it_has_a_meaning(text: str, *, refused: bool) -> None:
    found = [problem.code for problem in duration_problems((), text)]

    assert found == [core.NEGATIVE_DURATION] * refused
    assert not list(duration_problems((), text, negative=True))
