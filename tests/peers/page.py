"""The page of the docs that compares Closeknit with the test tables of other schedulers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers import records
from tests.peers.records import PEERS, Case

PAGE = records.FOLDER.parents[1] / "docs" / "reference" / "peer-tests.md"
_NAMES = {"kai": "KAI Scheduler", "kubernetes": "kube-scheduler", "kueue": "Kueue"}
_LINKS = {
    "kai": "https://github.com/kai-scheduler/KAI-Scheduler",
    "kubernetes": "https://github.com/kubernetes/kubernetes",
    "kueue": "https://github.com/kubernetes-sigs/kueue",
}


@dataclass
class Totals:
    """How many cases of a peer or of a table have each verdict."""

    verdicts: Counter[str] = field(default_factory=Counter)
    not_expressible: int = 0

    def add(self, cases: Sequence[Case], not_expressible: int) -> None:
        """Count the cases of a table."""
        self.verdicts.update(case.verdict for case in cases)
        self.not_expressible += not_expressible

    @property
    def expressed(self) -> int:
        """Cases that are expressed."""
        return self.verdicts.total()

    @property
    def share(self) -> float:
        """The part that is the same or better of what is expressed, consolidation aside."""
        compared = self.expressed - self.verdicts["consolidation"]
        return (self.verdicts["same"] + self.verdicts["better"]) / compared if compared else 1.0


def totals(peer: str) -> Totals:
    """The totals of a peer."""
    found = Totals()
    for file in records.files(peer):
        table = records.read(file)
        found.add(table.cases, sum(map(len, table.not_expressible.values())))
    return found


def written() -> str:
    """The page."""
    return "\n".join([*_summary(), *(line for peer in PEERS if records.files(peer) for line in _peer(peer))])


def _summary() -> Iterator[str]:
    yield from (
        "# Other schedulers' tests",
        "",
        "KAI Scheduler, kube-scheduler and Kueue test preemption, reclaim, gangs, subgroups and topology with tables of cases.",
        "Here these cases are data: nodes, queues, workloads and the expected outcome. Each runs on the scheduler of `closeknit run`",
        "(those of Kueue on Closeknit's Kueue operator), against an embedded cluster in virtual time, until the cluster has come to rest.",
        "No code of these projects is used; each case names the file and the case that it was taken from.",
        "",
        "A case is *same* if the same numbers of pods of every workload run, wait and were evicted, on equal nodes where the table fixes nodes;",
        "*better* if Closeknit runs more or evicts less, places closer together, or comes closer to the fair split; *different* otherwise. Cases whose expected outcome",
        "moves running pods are counted apart (*consolidation*).",
        "",
        "| peer | expressed | same | better | different | consolidation | same or better | not expressible |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    )
    for peer in PEERS:
        yield _row(f"[{_NAMES[peer]}](#{_anchor(peer)})", totals(peer))
    yield from (
        "",
        "The share counts what is expressed, consolidation aside. Run the comparison with `make peer-tests`; `make peer-tests RECORD=1` records",
        "changed outcomes for review.",
        "",
    )


def _row(name: str, counted: Totals) -> str:
    verdicts = [str(counted.verdicts[name]) for name in ("same", "better", "different", "consolidation")]
    share = f"{100 * counted.share:.1f} %"
    return f"| {' | '.join([name, str(counted.expressed), *verdicts, share, str(counted.not_expressible)])} |"


def _anchor(peer: str) -> str:
    return _NAMES[peer].lower().replace(" ", "-")


def _peer(peer: str) -> Iterator[str]:
    files = records.files(peer)
    revision = records.read(files[0]).revision
    yield from (
        f"## {_NAMES[peer]}",
        "",
        f"Tables of [{_NAMES[peer]}]({_LINKS[peer]}) at `{revision[:12]}`.",
        "",
        "| table | expressed | same | better | different | consolidation | same or better | not expressible |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    )
    for file in files:
        table, counted = records.read(file), Totals()
        counted.add(table.cases, sum(map(len, table.not_expressible.values())))
        if not table.cases:
            continue
        link = f"{_LINKS[peer]}/blob/{table.revision}/{table.source}"
        yield _row(f"[{table.title}]({link})", counted)
    aside = sum(not records.read(file).cases for file in files)
    yield from ("", f"Of {aside} more tables no case can be expressed.", "") if aside else ("",)
    yield from _differences(peer)
    yield from _not_expressible(files)


def _differences(peer: str) -> Iterator[str]:
    by_cause: dict[tuple[str, str], list[tuple[Path, Case]]] = {}
    for file, case in records.cases(peer):
        if case.verdict not in ("same", "consolidation"):
            by_cause.setdefault((case.verdict, case.cause), []).append((file, case))
    for verdict, heading in (("different", "Differences"), ("better", "Better")):
        found = {cause: cases for (kind, cause), cases in by_cause.items() if kind == verdict}
        if not found:
            continue
        yield from (f"### {heading}: {_NAMES[peer]}", "")
        for cause, cases in sorted(found.items(), key=lambda each: (-len(each[1]), each[0])):
            yield from (f"**{records.causes().get(cause, cause)}**", "")
            for file, case in cases:
                reason = f" {case.reason}" if case.reason else ""
                yield f"- {case.id} (`{file.stem}`).{reason}"
            yield ""


def _not_expressible(files: Sequence[Path]) -> Iterator[str]:
    why: Counter[str] = Counter()
    for file in files:
        for reason, names in records.read(file).not_expressible.items():
            why[reason] += len(names)
    if why:
        yield from ("Not expressible, by what the case does:", "")
        yield from (
            f"- {reason}: {number}" for reason, number in sorted(why.items(), key=lambda each: -each[1])
        )
        yield ""
