"""How many examples the property tests try."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

_EXPLORING = 3
"""How many times the examples a run that explores tries."""


def effort(examples: int) -> settings:
    """Settings for a test that tries so many examples."""
    exploring = not settings().derandomize
    return settings(
        max_examples=examples * (_EXPLORING if exploring else 1),
        # An instance is drawn by its seed, and a smaller seed is no simpler instance.
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
