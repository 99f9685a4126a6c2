"""How tests that draw examples draw them.

By default the same ones in every run, however busy the machine is. ``make test-slow`` explores: new ones, from
a seed that it prints, and more of them.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more of the machine than of the code.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", derandomize=False, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("fixed")
