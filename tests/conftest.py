"""What tests of several kinds share, and how those that draw examples draw them.

By default the same ones in every run, however busy the machine is. ``make test-slow`` explores: new ones, from
a seed that it prints, and more of them. ``make test-long`` draws the most.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from closeknit.testing.control_plane import ControlPlane
from tests.planes import running_plane
from tests.requirements import Results

# How long an example takes says more of the machine than of the code.
settings.register_profile(
    "fixed",
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
fixed = settings.get_profile("fixed")
settings.register_profile("explore", fixed, max_examples=200, derandomize=False, print_blob=True)
settings.register_profile("thorough", fixed, max_examples=1000, derandomize=False, print_blob=True)
settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--requirements", type=Path, help="Add the results of tests that carry requirements here."
    )


def pytest_configure(config: pytest.Config) -> None:
    # A shell lets what runs in its background ignore this signal, and programs that tests interrupt inherit it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if file := config.getoption("--requirements"):
        config.pluginmanager.register(Results(file.absolute()))


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real control plane, one for all tests that a process runs; what they make in it stays."""
    with running_plane() as running:
        yield running
