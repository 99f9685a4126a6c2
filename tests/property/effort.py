"""How many examples the property tests try."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings


def effort(examples: int) -> settings:
    """Settings for a test that tries so many examples.

    They are the same ones in every run, so that a failing run can be repeated. Set
    CLOSEKNIT_EFFORT=10 to try ten times as many, new ones each time.
    """
    times = int(os.environ.get("CLOSEKNIT_EFFORT", "0"))
    return settings(
        max_examples=examples * max(times, 1),
        derandomize=not times,
        deadline=None,
        # An instance is drawn by its seed, and a smaller seed is no simpler instance.
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
