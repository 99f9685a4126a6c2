"""The rules by which a search saves steps.

Each rule names the family of instances in ``bench.search_rules`` on which the search takes more than twice
the steps without it; ``make rules`` measures that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules a search follows: all of them, but for measurements."""

    constraints_first: bool = True
    """Where no placement turns up soon, first ask without wishes whether there is any.

    Family: ``a_server_on_every_node``.
    """
    floor: bool = True
    """Stop when the best placement reaches a bound that holds for every placement.

    Family: ``leaders_beside_workers``.
    """
    hopeless_domains: bool = True
    """Drop the domains of a group whose own cost reaches that of the best placement.

    Family: ``gangs_that_prefer_a_rack``.
    """
    guide: bool = True
    """Prefer the domain that takes the whole request in the fewest pieces.

    Family: ``small_and_large_pods``.
    """
    failures_first: bool = True
    """Give a group that failed its domain earlier the next time.

    Family: ``a_small_group_that_no_rack_takes``.
    """
    twins: bool = True
    """Skip a domain that an exchangeable group has been through.

    Family: ``equal_groups_one_a_rack``.
    """
    symmetry: bool = True
    """Of domains that look alike, try one.

    Family: ``equal_racks_none_of_which_will_do``.
    """
    whole_groups: bool = True
    """Count how many whole groups a domain takes, not only how many pods.

    Family: ``one_rack_too_few``.
    """
    resource_sums: bool = True
    """Compare what all shapes take together with the free amounts of a domain.

    Family: ``two_shapes_for_the_same_gpus``.
    """
    mixed_bound: bool = True
    """Count how many pods of any shape a node takes.

    Family: ``leaders_beside_workers``.
    """
    early_layout: bool = True
    """Lay out a small domain as soon as it gets pods, not only at the end.

    Family: ``a_small_group_that_no_rack_takes``.
    """


ALL = Rules()
