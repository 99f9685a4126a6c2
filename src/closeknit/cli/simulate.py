"""``closeknit simulate``: workloads replayed in virtual time, under several policies side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closeknit.cli import options
from closeknit.cli.exits import ExitStatus, finish, refusing_invalid
from closeknit.cli.simulated import Guesses, drawn, replayed, site_of, sped_up
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.sentences import cli as cli_sentences
from closeknit.hub.sentences import simulator as sentences
from closeknit.scheduler.wording import counted, printable

if TYPE_CHECKING:
    from closeknit.simulator.measures import Figures
    from closeknit.simulator.scenario import Faults, Scenario, Site, Submission

FILES = ("figures.json", "workloads.csv", "samples.csv", "report.html")


def simulate(
    *,
    trace: Annotated[
        str,
        typer.Option(metavar="FILE", help="Workloads: own YAML or CSV, or Alibaba's openb pod list (CSV)."),
    ] = "",
    generate: Annotated[
        int, typer.Option(min=0, max=1_000_000, metavar="N", help="Draw N workloads instead of a trace.")
    ] = 0,
    load: Annotated[
        float,
        typer.Option(
            min=0.01, max=100, metavar="SHARE", help="With --generate: the share of all GPUs that arrives."
        ),
    ] = 0.9,
    burst_share: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="With --generate: the share that arrives in bursts."
        ),
    ] = 0.0,
    nodes: Annotated[
        str,
        typer.Option(metavar="LEVEL=N,...,host=N", help="A made-up cluster, as for closeknit nodes --shape."),
    ] = "",
    cluster: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A cluster: Node and Topology manifests, openb's node list (CSV), or a CSV of hosts with the"
            " switches above each, coarsest first.",
        ),
    ] = "",
    topology: Annotated[
        str, typer.Option(metavar="NAME", help="Which topology of the manifests, where there are several.")
    ] = "",
    gpus: Annotated[
        int,
        typer.Option(min=1, max=1024, metavar="N", help="GPUs of a host where the cluster does not tell."),
    ] = 8,
    rack_size: Annotated[
        int,
        typer.Option(
            min=1, max=100_000, metavar="N", help="Nodes of a rack where the cluster tells no racks."
        ),
    ] = 16,
    block_size: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="N", help="Racks of a block, likewise.")
    ] = 8,
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="first-fit, best-fit, kueue, kai or closeknit. May repeat. Left out: all of them.",
        ),
    ] = [],  # noqa: B006 (Typer copies it)
    merge_racks: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="Also run with N neighbouring racks as one: fewer, larger racks.",
        ),
    ] = 1,
    node_loss: Annotated[
        float,
        typer.Option(min=0, max=1000, metavar="RATE", help="How often each node fails, in failures a day."),
    ] = 0.0,
    repair: Annotated[
        float, typer.Option(min=1, max=1e9, metavar="SECONDS", help="How long a failed node is away.")
    ] = 14_400.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Equal seeds give equal figures.")] = 1,
    speed_up: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=1e6,
            metavar="FACTOR",
            help="Let the workloads of a trace arrive so many times as fast, and run as long.",
        ),
    ] = 1.0,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="N",
            help="Only the first N workloads of a trace; needed above 100,000.",
        ),
    ] = None,
    into: Annotated[
        Path, typer.Option("--into", metavar="DIRECTORY", help="Where figures and report are written.")
    ] = Path("simulation"),
    output: Annotated[
        options.Text, typer.Option("-o", "--output", help="text, or the figures as json.")
    ] = options.Text.TEXT,
) -> None:
    """Replay workloads on a cluster in virtual time, and compare policies.

    closeknit is the real scheduler on an embedded cluster. The others are published rules: topology-blind
    first fit and best fit by node, and the greedy rules of Kueue and KAI. Written are figures.json,
    workloads.csv, samples.csv, and report.html with plots.
    """
    with refusing_invalid():
        chosen = _policies(policy)
        if into.exists() and not into.is_dir():
            raise InvalidError([sentences.OUTPUT_IS_FILE.at((Verbatim("--into"),))])
        site = site_of(
            nodes, cluster, topology, Guesses(gpus=gpus, rack_size=rack_size, block_size=block_size)
        )
        if trace and generate:
            raise InvalidError([sentences.TWO_TRACES.at()])
        if trace:
            submissions = sped_up(replayed(site, trace, seed, limit), speed_up)
            chosen = _able(chosen, policy, submissions)
        else:
            submissions = drawn(site, generate, load, burst_share, seed)
    from closeknit.simulator.comparing import compared
    from closeknit.simulator.scenario import Faults, Scenario

    faults = Faults(node_loss, repair)
    faster = f", arriving {speed_up:g} times as fast" if speed_up != 1 else ""
    origin = f"{Path(trace).name}{faster}, seed {seed}" if trace else f"drawn, load {load:g}, seed {seed}"
    scenario = Scenario(site, submissions, faults, seed, _about(site, origin, submissions, faults))
    with refusing_invalid():
        with _progress(len(submissions)) as told:
            found = compared(scenario, chosen, merge_racks, told)
        _write(into, scenario, found)
    _show(scenario, found, into, output)
    ours = [each.summary["never_ran"] for each in found if each.policy == "closeknit"]
    finish(ExitStatus.UNPLACED if any(ours) else ExitStatus.DONE)


def _policies(named: Sequence[str]) -> list[str]:
    from closeknit.simulator.policies import ABOUT

    wrong = [
        sentences.NO_SUCH_POLICY.at((Verbatim("--policy"),), name=name, known=OneOf.among(name, ABOUT))
        for name in named
        if name not in ABOUT
    ]
    if wrong:
        raise InvalidError(wrong)
    return list(dict.fromkeys(named)) or list(ABOUT)


def _able(chosen: list[str], named: Sequence[str], submissions: Sequence[Submission]) -> list[str]:
    """The policies that can place these workloads: manifests are for the real scheduler alone."""
    from closeknit.simulator.policies import OURS

    others = [name for name in chosen if name != OURS]
    if not others or all(each.manifests is None for each in submissions):
        return chosen
    if named:
        where = (Verbatim("--policy"),)
        raise InvalidError([sentences.MANIFESTS_NEED_OURS.at(where, name=name) for name in others])
    sys.stderr.write("note: The trace holds manifests, so only the policy closeknit is run.\n")
    return [OURS]


def _about(site: Site, origin: str, submissions: Sequence[Submission], faults: Faults) -> dict[str, str]:
    words = " > ".join(site.word(label) for label in site.topology.labels)
    pods = sum(each.ask.pods for each in submissions)
    lost = f"each node fails {faults.per_node_day:g} times a day, for {faults.repair:g} s"
    return {
        "Cluster": f"{counted(len(site.nodes), 'node')}, {site.devices:,.0f} devices; {words}",
        "From": site.about,
        "Workloads": f"{counted(len(submissions), 'gang')}, {counted(pods, 'pod')}; {origin}",
        **({"Faults": lost} if faults.per_node_day else {}),
    }


@contextmanager
def _progress(gangs: int) -> Iterator[Callable[[str, int], None]]:
    """A bar for each run on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks: dict[str, object] = {}

        def told(run: str, ended: int) -> None:
            if run not in tasks:
                tasks[run] = bars.add_task(run, total=gangs)
            bars.update(tasks[run], completed=ended)  # type: ignore[arg-type]

        yield told


def _write(into: Path, scenario: Scenario, found: Sequence[Figures]) -> None:
    from closeknit.simulator import report, writing

    texts = (
        writing.as_json(scenario, found),
        writing.workloads_csv(scenario, found),
        writing.samples_csv(found),
        report.page(scenario, found),
    )
    try:
        into.mkdir(parents=True, exist_ok=True)
        for name, text in zip(FILES, texts, strict=True):
            (into / name).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        wrong: Problem = cli_sentences.UNWRITABLE_FILES.at((Verbatim(into),), reason=str(error.strerror))
        raise InvalidError([wrong]) from error


def _show(scenario: Scenario, found: Sequence[Figures], into: Path, output: options.Text) -> None:
    from closeknit.simulator import report, writing
    from closeknit.simulator.comparing import run_name

    if output is options.Text.JSON:
        sys.stdout.write(writing.as_json(scenario, found))
        return
    for key, value in scenario.about.items():
        sys.stdout.write(f"{key + ':':<12}{printable(value)}\n")
    names = [run_name(each.policy, each.variant) for each in found]
    rows = [("", names), *report.table_rows(scenario, found)]
    first = max(len(title) for title, _ in rows)
    widths = [max(len(values[i]) for _, values in rows) for i in range(len(names))]
    sys.stdout.write("\n")
    for title, values in rows:
        cells = "  ".join(value.rjust(width) for value, width in zip(values, widths, strict=True))
        sys.stdout.write(f"{printable(title):<{first}}  {printable(cells)}".rstrip() + "\n")
    sys.stdout.write(f"\nWritten to {printable(str(into))}: {', '.join(FILES)}.\n")
