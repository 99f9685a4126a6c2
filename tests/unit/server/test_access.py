"""Who is let in, and how often."""

from __future__ import annotations

import pytest

from closeknit.server.access import Access, Rate, is_loopback


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        pytest.param("127.0.0.1:8080", True, id="an address of loopback"),
        pytest.param("localhost:8080", True, id="localhost"),
        pytest.param("[::1]:8080", True, id="an address of IPv6"),
        pytest.param("map.example", True, id="the name that was given"),
        pytest.param("evil.example:8080", False, id="a name that resolves to us and is not ours"),
        pytest.param("", False, id="no name"),
    ],
)
def test_names_of_this_server(host: str, ours: bool) -> None:
    assert Access("127.0.0.1", names=frozenset({"map.example"})).is_ours(host) is ours


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("map.example", False)],
)
def test_loopback(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_a_client_gets_a_burst_and_then_a_rate() -> None:
    now = 0.0
    rate = Rate(2.0, 3.0, lambda: now)
    assert [rate.wait("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert rate.wait("b") == 0.0
    now = 0.5
    assert [rate.wait("a"), rate.wait("a")] == [0.0, 0.5]


def test_clients_that_are_not_heard_of_are_forgotten() -> None:
    rate = Rate(1.0, 1.0, lambda: 0.0)
    for number in range(20_000):
        rate.wait(str(number))
    assert len(rate._left) <= 10_000
