"""The rules by which a search saves steps.

For each rule, ``bench.search_rules`` has a family of instances on which the search takes more than twice the
steps without it; ``make rules`` measures that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules a search follows: all of them, but for measurements."""

    constraints_first: bool = True
    """Where no placement turns up soon, first ask without wishes whether there is any."""
    floor: bool = True
    """Stop when the best placement reaches a bound that holds for every placement."""
    hopeless_domains: bool = True
    """Drop the domains of a group whose own cost reaches that of the best placement."""
    guide: bool = True
    """Prefer the domain that takes the whole request in the fewest pieces."""
    failures_first: bool = True
    """Give a group that failed its domain earlier the next time."""
    twins: bool = True
    """Skip a domain that an exchangeable group has been through."""
    symmetry: bool = True
    """Of domains that look alike, try one."""
    whole_groups: bool = True
    """Count how many whole groups a domain takes, not only how many pods."""
    resource_sums: bool = True
    """Compare what all shapes take together with the free amounts of a domain."""
    mixed_bound: bool = True
    """Count how many pods of any shape a node takes."""
    early_layout: bool = True
    """Lay out a small domain as soon as it gets pods, not only at the end."""


ALL = Rules()
