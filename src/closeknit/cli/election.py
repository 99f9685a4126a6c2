"""Options of leader election: how long a lease holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.kube.leases import Terms

_MARGIN = 1.0
"""Seconds that a lease outlasts the last write of its holder at least; a call gets half of it."""

Duration = Annotated[
    float,
    typer.Option(
        "--lease-duration",
        min=2.0,
        max=3600.0,
        metavar="SECONDS",
        help="Seconds after the last renewal of a lease until another instance takes it.",
    ),
]
RenewDeadline = Annotated[
    float,
    typer.Option(
        "--renew-deadline",
        min=0.5,
        max=3600.0,
        metavar="SECONDS",
        help="Seconds after its last renewal until the holder of a lease stops, and writes nothing more.",
    ),
]
RetryPeriod = Annotated[
    float,
    typer.Option(
        "--retry-period",
        min=0.1,
        max=3600.0,
        metavar="SECONDS",
        help="Seconds between two renewals of a lease, and between two attempts to take it.",
    ),
]


def lease_terms(duration: float, renew_deadline: float, retry_period: float) -> Terms:
    """The terms under which leases are held; refused where two instances could hold one."""
    from closeknit.kube.leases import Terms

    wrong = None
    if duration - renew_deadline < _MARGIN:
        wrong = "--renew-deadline"
    elif renew_deadline <= retry_period:
        wrong = "--retry-period"
    if wrong is not None:
        problem = sentences.LEASE_TIMES.at(
            (Verbatim(wrong),),
            duration=f"{duration:g}",
            renew_deadline=f"{renew_deadline:g}",
            retry_period=f"{retry_period:g}",
            margin=f"{_MARGIN:g}",
        )
        raise InvalidError([problem])
    return Terms(duration=duration, renew_within=renew_deadline, every=retry_period)
