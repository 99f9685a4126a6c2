"""How much there is to compare in what pods ask of nodes and of other pods.

An object of 1.5 MB can hold node affinity and rules about other pods of half a million values. Every decision
compares and hashes them, several times: 60 such pods kept small gangs waiting for 13 s instead of 0.06 s. So
pods of more than ``MOST_VALUES`` are not placed, and that is their problem alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from closeknit.hub.neighbours import PodRule
from closeknit.hub.nodes import Requirement, Term
from closeknit.hub.problems import Problem
from closeknit.hub.request import PodSet, Request
from closeknit.hub.sentences import core as sentences

MOST_VALUES: Final = 5_000
"""Names of nodes, values of labels, and tolerations of one pod set."""


def too_large(request: Request) -> Iterator[Problem]:
    """The pod sets that ask for too much to compare."""
    for pods in request.root.pod_sets():
        if (values := _values_of(pods)) > MOST_VALUES:
            yield sentences.RULES_TOO_LARGE.at((), group=pods.name, values=values, most=MOST_VALUES)


def _values_of(pods: PodSet) -> int:
    accepts, rules = pods.filter, pods.neighbour.rules
    preferences = [preference.term for preference in accepts.preferences]
    return (
        len(accepts.selector)
        + len(accepts.tolerations)
        + _of_terms((*(accepts.affinity or ()), *preferences))
        + sum(map(_of_rule, rules))
    )


def _of_terms(terms: Iterable[Term]) -> int:
    return sum(1 + _of_requirements(term.requirements) for term in terms)


def _of_rule(rule: PodRule) -> int:
    selector = rule.selector
    named = sum(len(each.named) + _of_requirements(each.requirements) for each in selector.within)
    return 1 + len(selector.namespaces or ()) + _of_requirements(selector.requirements) + named


def _of_requirements(requirements: Iterable[Requirement]) -> int:
    return sum(1 + len(requirement.values) for requirement in requirements)
