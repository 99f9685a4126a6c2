"""Make a sequence on which the live core and the model disagree as small as possible, and draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from tests.policy.harness import Difference, Result
from tests.policy.sequences import HORIZON, AddNode, Arrive, Event, Sequence

Run = Any
"""Compares a sequence."""


def shrunk(sequence: Sequence, run: Callable[[Sequence], Result]) -> Sequence:
    """The smallest sequence found that still shows a difference of the same kind."""
    first = run(sequence).difference
    assert first is not None

    def still(candidate: Sequence) -> bool:
        if not _valid(candidate):
            return False
        try:
            difference = run(candidate).difference
        except (KeyError, ValueError):
            return False
        return difference is not None and difference.what == first.what

    sequence = msgspec.structs.replace(sequence, events=sequence.events[: first.event + 1])
    progress = True
    while progress:
        progress = False
        for candidate in smaller(sequence):
            if still(candidate):
                sequence, progress = candidate, True
                break
    return sequence


def _valid(sequence: Sequence) -> bool:
    """Whether all groups name a queue if there are any, and nothing has more pods than it should."""
    units = [unit for _, event in sequence.events if isinstance(event, Arrive) for unit in event.units]
    return all(
        (unit.alone or bool(unit.queue) == bool(sequence.queues))
        and (unit.early is None or unit.early <= unit.pods)
        and unit.minimum <= unit.pods
        for unit in units
    )


def smaller(sequence: Sequence) -> Iterator[Sequence]:
    """Sequences that are smaller by one step, the largest steps first."""
    replace = msgspec.structs.replace
    events = sequence.events
    for i in range(len(events)):
        yield replace(sequence, events=events[:i] + events[i + 1 :])
    for i, (gap, event) in enumerate(events):
        for simpler in _smaller_event(event):
            yield replace(sequence, events=(*events[:i], (gap, simpler), *events[i + 1 :]))
    for i in range(len(sequence.nodes)):
        yield replace(sequence, nodes=sequence.nodes[:i] + sequence.nodes[i + 1 :])
    named = {unit.queue for _, event in events if isinstance(event, Arrive) for unit in event.units}
    named |= {queue.parent for queue in sequence.queues}
    for i, queue in enumerate(sequence.queues):
        if queue.name not in named:
            yield replace(sequence, queues=sequence.queues[:i] + sequence.queues[i + 1 :])
        for simpler_queue in _with_defaults(queue):
            changed = (*sequence.queues[:i], simpler_queue, *sequence.queues[i + 1 :])
            yield replace(sequence, queues=changed)
    for i, node in enumerate(sequence.nodes):
        for change in ({"gpus": node.gpus - 1}, {"rack": "r0"}):
            simpler_node = replace(node, **change)
            if simpler_node != node and simpler_node.gpus > 0:
                yield replace(sequence, nodes=(*sequence.nodes[:i], simpler_node, *sequence.nodes[i + 1 :]))
    for i, (gap, event) in enumerate(events):
        if gap != HORIZON:
            yield replace(sequence, events=(*events[:i], (HORIZON, event), *events[i + 1 :]))


def _smaller_event(event: Event) -> Iterator[Event]:
    if isinstance(event, AddNode) and event.node.gpus > 1:
        yield AddNode(msgspec.structs.replace(event.node, gpus=event.node.gpus - 1))
    if not isinstance(event, Arrive):
        return
    units = event.units
    if len(units) > 1:
        for i in range(len(units)):
            yield Arrive(units[:i] + units[i + 1 :])
    for i, unit in enumerate(units):
        changes: list[dict[str, Any]] = [{"pods": unit.pods - 1, "minimum": min(unit.minimum, unit.pods - 1)}]
        changes += [{"gpus": unit.gpus - 1}, {"minimum": unit.pods}]
        simpler = [msgspec.structs.replace(unit, **change) for change in changes]
        for candidate in [
            *simpler,
            *_with_defaults(unit, keep=("name", "pods", "minimum", "gpus", "queue", "alone")),
        ]:
            if candidate != unit and candidate.pods > 0 and candidate.gpus > 0 and candidate.minimum > 0:
                yield Arrive((*units[:i], candidate, *units[i + 1 :]))


def _with_defaults(spec: Any, keep: tuple[str, ...] = ("name", "parent")) -> Iterator[Any]:
    """The same with one field at its default."""
    for field in msgspec.structs.fields(spec):
        if field.name not in keep and not field.required and getattr(spec, field.name) != field.default:
            yield msgspec.structs.replace(spec, **{field.name: field.default})


def drawn(sequence: Sequence, difference: Difference) -> str:
    """A reproducer as short text."""
    lines = [
        "nodes   " + "  ".join(f"{node.name}[{'.' * node.gpus}]@{node.rack}" for node in sequence.nodes),
    ]
    lines += ["queue   " + _fields(queue) for queue in sequence.queues]
    at = 0
    for gap, event in sequence.events:
        at += gap
        if isinstance(event, Arrive):
            lines += [f"{at:>6}  arrive {_fields(unit)}" for unit in event.units]
        elif isinstance(event, AddNode):
            lines.append(f"{at:>6}  AddNode {_fields(event.node)}")
        else:
            lines.append(f"{at:>6}  {type(event).__name__} {_fields(event)}")
    lines.append(f"{difference.what} differ after the last event:" if difference.what else "")
    lines += [f"  live  {difference.live}", f"  model {difference.foreseen}"]
    lines += ["live", *(f"  {line}" for line in difference.live_log[-16:])]
    lines += ["model", *(f"  {line}" for line in difference.model_log[-12:])]
    return "\n".join(lines)


def _fields(spec: Any) -> str:
    return " ".join(
        f"{field.name}={value}" if field.name != "name" else str(value)
        for field in msgspec.structs.fields(spec)
        if (value := getattr(spec, field.name)) != field.default or field.required
    )
