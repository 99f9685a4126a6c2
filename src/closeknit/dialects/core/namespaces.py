"""Namespaces by their labels: which of them a selector means, as far as Namespace objects are in sight."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.apis import core_v1
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.neighbours import Neighbour, PodRule, PodSelector

NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has; no other is known without the namespace itself."""


def labels_of(view: View, namespace: str) -> Mapping[str, str] | None:
    """The labels of a namespace, None where it is not in sight."""
    stored = view.get(Key("", "Namespace", "", namespace))
    return {NAME: namespace, **stored.content.metadata.labels} if stored is not None else None


def by_name(view: View, given: Neighbour) -> tuple[Neighbour, bool]:
    """The same with namespaces by name, and whether that could be done for all of its rules.

    Where no Namespace is in sight, rules that select namespaces by their labels are left out.
    """
    if not any(rule.selector.within for rule in given.rules):
        return given, True
    known = {
        each.name: {NAME: each.name, **each.content.metadata.labels} for each in view.of(core_v1.Namespace)
    }
    rules = [_named(rule, known) for rule in given.rules if known or not rule.selector.within]
    return replace(given, rules=tuple(rules)), bool(known)


def _named(rule: PodRule, known: Mapping[str, Mapping[str, str]]) -> PodRule:
    selector = rule.selector
    if not selector.within:
        return rule
    meant = {*known, *(name for each in selector.within for name in each.named)}
    names = frozenset(
        name
        for name in meant
        if all(each.selects(name, known.get(name, {NAME: name})) for each in selector.within)
        and (selector.namespaces is None or name in selector.namespaces)
    )
    return replace(rule, selector=PodSelector(names, selector.requirements))
