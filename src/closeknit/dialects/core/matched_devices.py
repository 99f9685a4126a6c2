"""Which devices a query selects, within a bound on the steps that this takes.

Selectors are written by tenants. What cannot be evaluated is a problem of those that ask for it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.asking import asks
from closeknit.dialects.core.devices import GROUP, Id, Query, devices_of
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.selectors import BudgetError, SelectorError, check, cost, selected
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import claims as sentences

MOST_STEPS: Final = 100_000_000
"""How many steps may be evaluated for all queries together: about 4 s, once, since answers are kept by slice.

It is enough for twelve plain selectors on 5,000 nodes of 8 devices.
"""
EVALUATION: Final = 200
"""What an evaluation costs beside its steps (8 us): the variables are made from the device."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The devices of a query, or why they cannot be counted."""

    devices: frozenset[Id] = frozenset()
    problem: Problem | None = None


def matched(view: View, query: Query) -> Matched:
    """The devices of a query."""
    stored = view.get(Key(GROUP, "DeviceClass", "", query.device_class))
    if stored is None:
        missing = sentences.NOT_IN_SIGHT.at((), kind="DeviceClass", name=query.device_class)
        return Matched(problem=missing)
    own = [each.cel.expression for each in stored.content.spec.selectors]
    expressions = (*own, *query.selectors)
    for each in expressions:
        if why := check(each):
            return Matched(problem=sentences.NOT_EVALUATED.at((), expression=each, why=why))
    every = view.derive(devices_of)
    steps = len(every) * sum(cost(each) + EVALUATION for each in expressions)
    if steps > MOST_STEPS or query in view.derive(unaffordable):
        facts = {"steps": steps, "devices": len(every), "most": MOST_STEPS}
        return Matched(problem=sentences.TOO_MANY_STEPS.at((), name=query.device_class, **facts))
    found: list[Id] = []
    failed: set[str] = set()
    for identity, offered in every.items():
        if _is_tainted(offered.device, query):
            continue
        answers = view.derive(_answers, offered.slice, expressions)
        if answers.problem is not None:
            return Matched(problem=answers.problem)
        if identity[-1] in answers.selected:
            found.append(identity)
        elif identity[-1] in answers.failed:
            # kube-scheduler gives up on a node where an expression has no answer.
            failed.add(offered.node)
    found = [each for each in found if every[each].node not in failed]
    for identity in found:
        if not every[identity].node:
            return Matched(problem=sentences.NOT_LOCAL.at((), name=query.device_class))
        device = every[identity].device
        if device.allow_multiple_allocations:
            return Matched(problem=sentences.DEVICES_SHARED.at((), name=query.device_class))
        if device.binding_conditions and binds(view):
            return Matched(problem=sentences.BINDING_CONDITIONS.at((), name=query.device_class))
    return Matched(frozenset(found))


@dataclass(frozen=True, slots=True)
class _Answers:
    """What expressions select of the devices of one slice, by their names."""

    selected: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    """Those for which an expression has no answer."""
    problem: Problem | None = None
    """Why the evaluation was given up."""


def _answers(view: View, name: str, expressions: tuple[str, ...]) -> _Answers:
    """The devices of a slice that all expressions select.

    It depends on this slice alone, so a slice that changes costs no evaluation of others. The slice is an
    argument by its name and not by its key, so that answers are dropped when no claim asks for them.
    """
    stored = view.get(Key(GROUP, "ResourceSlice", "", name))
    if stored is None:
        return _Answers()
    spec = stored.content.spec
    selected_names: set[str] = set()
    failed: set[str] = set()
    for device in spec.devices:
        at_work = ""
        try:
            for at_work in expressions:
                if not selected(at_work, spec.driver, device.basic or device):
                    break
            else:
                selected_names.add(device.name)
        except BudgetError as error:
            facts = {"expression": at_work, "device": device.name, "why": str(error)}
            return _Answers(problem=sentences.GIVEN_UP.at((), **facts))
        except SelectorError:
            failed.add(device.name)
    return _Answers(frozenset(selected_names), frozenset(failed))


def unaffordable(view: View) -> frozenset[Query]:
    """Queries that are not evaluated, because all queries together would take more than ``MOST_STEPS``.

    The cheapest are evaluated first, so a costly one keeps no other from being evaluated.
    """
    devices = len(view.derive(devices_of))
    left = MOST_STEPS
    refused: list[Query] = []
    queries = {query for ask in view.derive(asks) for query, _ in ask.kinds}
    for steps, _, query in sorted((_steps(view, query), str(query), query) for query in queries):
        left -= steps * devices
        if left < 0:
            refused.append(query)
    return frozenset(refused)


def _steps(view: View, query: Query) -> int:
    """The most steps that it takes to see whether a query selects a device."""
    stored = view.get(Key(GROUP, "DeviceClass", "", query.device_class))
    own = [each.cel.expression for each in stored.content.spec.selectors] if stored is not None else []
    return sum(cost(each) + EVALUATION for each in (*own, *query.selectors))


def _is_tainted(device: wire.BasicDevice, query: Query) -> bool:
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(_tolerates(each, taint) for each in query.tolerations)
        for taint in device.taints
    )


def _tolerates(toleration: core_v1.Toleration, taint: wire.DeviceTaint) -> bool:
    return (
        (not toleration.key or toleration.key == taint.key)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
        and (not toleration.effect or toleration.effect == taint.effect)
    )
