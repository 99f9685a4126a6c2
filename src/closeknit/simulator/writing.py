"""Figures written as JSON and CSV. Equal figures give equal bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from closeknit.simulator.measures import Figures
from closeknit.simulator.scenario import Scenario

_DIGITS = 6


def as_json(scenario: Scenario, found: Sequence[Figures]) -> str:
    """Everything but the single gangs, which stand in the table of workloads."""
    runs = [
        {
            "policy": each.policy,
            "topology": each.variant.name,
            "summary": each.summary,
            "waits": [asdict(waits) for waits in each.waits],
            "samples": [asdict(sample) for sample in each.samples],
        }
        for each in found
    ]
    written = {"about": dict(scenario.about), "seed": scenario.seed, "runs": runs}
    return json.dumps(_rounded(written), indent=1, ensure_ascii=False) + "\n"


def workloads_csv(scenario: Scenario, found: Sequence[Figures]) -> str:
    """A row for every gang of every run."""
    header = ("policy", "topology", "workload", "devices", "pods", "priority", "required", "preferred")
    figures = ("at", "runs", "started", "ended", "waited", "restarts", "racks", "blocks")
    closeness = ("preference_met", "requirement_kept", "ring", "all_to_all")
    rows: list[Sequence[Any]] = [(*header, *figures, *closeness)]
    site = scenario.site
    for each in found:
        for gang in each.gangs:
            one = scenario.submissions[gang.submission]
            ask = one.ask
            levels = (
                site.word(label) if label is not None else "" for label in (ask.required, ask.preferred)
            )
            waited = None if gang.started is None else max(gang.started - one.at, 0.0)
            rows.append(
                (
                    *(
                        each.policy,
                        each.variant.name,
                        one.name,
                        site.devices_of(ask),
                        ask.pods,
                        one.priority,
                        *levels,
                    ),
                    *(one.at, one.runs, gang.started, gang.ended, waited),
                    *(gang.restarts, gang.racks, gang.blocks),
                    *(gang.preference_met, gang.requirement_kept, gang.ring, gang.all_to_all),
                )
            )
    return _csv(rows)


def samples_csv(found: Sequence[Figures]) -> str:
    """A row for every moment of every run."""
    header = (
        "policy",
        "topology",
        "at",
        "used",
        "fragmentation",
        "largest_in_rack",
        "largest_in_block",
        "waiting",
    )
    rows: list[Sequence[Any]] = [header]
    for each in found:
        rows.extend((each.policy, each.variant.name, *asdict(sample).values()) for sample in each.samples)
    return _csv(rows)


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _rounded(value)


def _rounded(value: Any) -> Any:
    """Numbers with so many digits that no machine's last bit shows."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value
