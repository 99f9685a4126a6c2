"""One page with all figures and plots, which asks no network for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from closeknit.simulator.comparing import run_name
from closeknit.simulator.measures import Figures, Sample
from closeknit.simulator.plots import Axis, Series, bars, legend, lines
from closeknit.simulator.policies import ABOUT, OURS
from closeknit.simulator.scenario import Scenario

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--page:#fff;--card:#f6f7f9;--line:#d9dee5}
@media(prefers-color-scheme:dark){:root{--ink:#e8ecf2;--soft:#9aa6b6;--page:#12161c;--card:#1a2029;--line:#323b48}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:1.5rem 1rem 4rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.15rem;margin:2.2rem 0 .3rem}
p{max-width:75ch}.soft,dt,figcaption{color:var(--soft)}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dd{margin:0}
figure{margin:.6rem 0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem}
svg{display:block;width:100%;height:auto}.legend svg{display:inline-block;width:22px;height:10px;vertical-align:middle}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.2rem 0 .6rem;padding:0;font-size:.9rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child{text-align:left;font-weight:500;white-space:normal;min-width:9rem}thead th{border-bottom:2px solid var(--line);font-weight:600}.ours{background:var(--card)}
.tick,.axis{font:11px system-ui,sans-serif;fill:var(--soft)}.axis{font-size:12px}.grid{stroke:var(--line);fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.mark{fill:none;stroke-width:1.5}
.c0{stroke:#2f6fdb}.c1{stroke:#d9822b}.c2{stroke:#8a63d2}.c3{stroke:#c23b72}.c4{stroke:#2e9e5b}.c5{stroke:#6b7480}
.bar{stroke:none}.bar.c0{fill:#2f6fdb}.bar.c1{fill:#d9822b}.bar.c2{fill:#8a63d2}.bar.c3{fill:#c23b72}.bar.c4{fill:#2e9e5b}.bar.c5{fill:#6b7480}
"""


def span(seconds: float) -> str:
    """A duration for people."""
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def percent(share: float) -> str:
    """A share for people."""
    return f"{share * 100:.1f}%"


def number(value: float) -> str:
    """A count for people."""
    return f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure of the table."""

    title: str
    key: str
    """Of the summary."""
    written: Callable[[float], str]
    of_blocks: bool = False
    """Whether the figure is about blocks, which not every site has."""
    skip_zeros: bool = False
    """Whether the row is omitted if the figure is zero in every run."""


_ROWS = (
    _Row("Gangs that ran", "ran", number),
    _Row("Gangs that never ran", "never_ran", number, skip_zeros=True),
    _Row("Gangs started again", "restarts", number, skip_zeros=True),
    _Row("Nodes that failed", "node_failures", number, skip_zeros=True),
    _Row("Mean wait", "wait_mean", span),
    _Row("Median wait", "wait_median", span),
    _Row("90 of 100 wait at most", "wait_p90", span),
    _Row("99 of 100 wait at most", "wait_p99", span),
    _Row("Last gang ended after", "ended", span),
    _Row("Devices in use", "utilisation", percent),
    _Row("Fragmentation", "fragmentation", "{:.2f}".format),
    _Row("Largest gang that fits into one {rack}, devices", "largest_in_rack", number),
    _Row("Largest gang that fits into one {block}, devices", "largest_in_block", number, of_blocks=True),
    _Row("Gangs of several pods whole in one {rack}", "whole_in_rack", percent),
    _Row("Gangs of several pods whole in one {block}", "whole_in_block", percent, of_blocks=True),
    _Row("Preferences met", "preferences_met", percent),
    _Row("Required levels broken, gangs", "requirements_broken", number, skip_zeros=True),
    _Row("Traffic that leaves its {rack}, as a ring", "traffic_leaving_racks_ring", percent),
    _Row("Traffic that leaves its {rack}, all to all", "traffic_leaving_racks_all_to_all", percent),
)


def table_rows(scenario: Scenario, found: Sequence[Figures]) -> Iterator[tuple[str, list[str]]]:
    """The figures side by side, one row a figure; rows that say nothing anywhere are left out."""
    site = scenario.site
    words = {"rack": site.word(site.rack), "block": site.word(site.block)}
    for row in _ROWS:
        values = [figures.summary[row.key] for figures in found]
        if (row.skip_zeros and not any(values)) or (row.of_blocks and site.block is None):
            continue
        if any(value is not None for value in values):
            cells = ["-" if value is None else row.written(value) for value in values]
            yield row.title.format(**words), cells


def page(scenario: Scenario, found: Sequence[Figures]) -> str:
    """The report."""
    names = [run_name(each.policy, each.variant) for each in found]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{escape(title)}</th>'
        + "".join(
            f"<td{' class=ours' if each.policy == OURS else ''}>{escape(value)}</td>"
            for each, value in zip(found, values, strict=True)
        )
        + "</tr>"
        for title, values in table_rows(scenario, found)
    )
    about = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in scenario.about.items()
    )
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Closeknit simulation</title><style>{_STYLE}</style></head><body><main>"
        "<h1>Simulation</h1>"
        f"<dl>{about}</dl>"
        "<h2>Policies side by side</h2>"
        f'<div class="scroll" tabindex="0"><table><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{''.join(_plots(scenario, found, names))}"
        f"{_methods(scenario, found)}"
        "</main></body></html>\n"
    )


def _plots(scenario: Scenario, found: Sequence[Figures], names: Sequence[str]) -> Iterator[str]:
    policies = list(dict.fromkeys(each.policy for each in found))
    unit, size = _time_unit(max((sample.at for each in found for sample in each.samples), default=0.0))
    rack, block = (scenario.site.word(label) for label in (scenario.site.rack, scenario.site.block))

    def series(values: Callable[[Figures], Sequence[tuple[float, float]]]) -> list[Series]:
        return [
            Series(name, policies.index(each.policy) % 6, not each.variant.is_original, values(each))
            for each, name in zip(found, names, strict=True)
        ]

    def over_time(title: str, caption: str, up: Axis, value: Callable[[Sample], float]) -> str:
        drawn = series(lambda each: [(sample.at / size, value(sample)) for sample in each.samples])
        return _figure(title, lines(title, drawn, Axis(f"Time, {unit}"), up), legend(drawn), caption)

    sizes = [waits.devices for waits in found[0].waits] if found else []
    waits = series(lambda each: [(one.median / 60, one.p90 / 60) for one in each.waits])
    yield _figure(
        "Waiting time by gang size",
        bars("Waiting time by gang size", sizes, waits, Axis("Minutes"), "Devices of the gang"),
        legend(waits),
        "Bars show the median; the mark above is what 90 of 100 gangs do not exceed.",
    )
    groups = {
        f"Whole in one {rack}": "whole_in_rack",
        **({f"Whole in one {block}": "whole_in_block"} if scenario.site.block else {}),
        "Preferences met": "preferences_met",
        "Traffic, ring": "traffic_leaving_racks_ring",
        "Traffic, all to all": "traffic_leaving_racks_all_to_all",
    }
    if not any(each.summary["gangs_of_several_pods"] for each in found):
        groups = {}
    close = series(lambda each: [(each.summary[key] or 0.0, 0.0) for key in groups.values()])
    if groups:
        yield _figure(
            "How close gangs are",
            bars("How close gangs are", list(groups), close, Axis("Share", percent=True, most=1.0)),
            legend(close),
            f"Of gangs with several pods. Traffic is the estimated share that leaves its {rack}: less is better.",
        )
    share = Axis("Share", percent=True, most=1.0)
    yield over_time(
        "Devices in use", "Of the devices on nodes that have not failed.", share, lambda each: each.used
    )
    yield over_time(
        "Gangs that wait", "Gangs that have arrived and do not run.", Axis("Gangs"), lambda each: each.waiting
    )
    yield over_time(
        "Fragmentation",
        f"0 where as much as possible of what is free lies in one {rack}, towards 1 the more it is scattered.",
        Axis("Fragmentation", most=1.0),
        lambda each: each.fragmentation,
    )
    yield over_time(
        f"Largest gang that fits into one {rack}",
        "Counted in pods of one device.",
        Axis("Devices"),
        lambda each: each.largest_in_rack,
    )
    if scenario.site.block is not None:
        yield over_time(
            f"Largest gang that fits into one {block}",
            "Counted in pods of one device.",
            Axis("Devices"),
            lambda each: each.largest_in_block,
        )


def _figure(title: str, picture: str, names: str, caption: str) -> str:
    return (
        f"<h2>{escape(title)}</h2><figure>{names}{picture}<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _time_unit(seconds: float) -> tuple[str, float]:
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds > 3 * size:
            return unit, size
    return "seconds", 1.0


def _methods(scenario: Scenario, found: Sequence[Figures]) -> str:
    rack = scenario.site.word(scenario.site.rack)
    policies = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(ABOUT[name])}</dd>"
        for name in dict.fromkeys(each.policy for each in found)
    )
    return (
        f"<h2>How to read this</h2><dl>{policies}</dl>"
        "<p>Waits count from arrival to the moment when the last pod of a gang was bound for the first time. "
        "Gangs wait in the order of priority and arrival; policies other than closeknit pass whoever does not fit, reserve nothing and displace nobody. "
        "A gang that loses a node starts again and runs its whole time again. Use, fragmentation and the largest gangs are means over the time "
        "from the start to the last arrival, or until the first policy has started everybody.</p>"
        f"<p>Traffic is an estimate from placements alone. As a ring: pods are linked in a ring that visits each {escape(rack)} once, and every link "
        f"carries the same; the share is that of links between two {escape(rack)}s. All to all: every pair of pods exchanges the same; the share is that of "
        "pairs apart. Both are weighted by the devices and the run time of each gang of several pods. Real traffic depends on the "
        "parallelism of the job and on links that are not modelled.</p>"
    )
