"""How many examples the property tests try."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

_FIXED = 100
"""What ``make test`` tries where a test says nothing; profiles that draw new examples try several times as many."""


def effort(examples: int) -> settings:
    """Settings for a test that tries so many examples."""
    return settings(
        max_examples=examples * settings().max_examples // _FIXED,
        # An instance is drawn by its seed, and a smaller seed is no simpler instance.
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
