"""Cases of other schedulers' test tables as data: what is there, what is expected, and what Closeknit does.

A folder a peer holds one file a table. ``write`` writes a table in one way only, so that recording again changes
nothing but outcomes and verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import yaml

FOLDER = Path(__file__).parent
PEERS = ("kai", "kubernetes", "kueue")
CAUSES = FOLDER / "causes.yaml"
UNREVIEWED = "unreviewed"
"""The cause of a difference that was recorded and that nobody has judged yet."""

Amount: TypeAlias = int | float | str
Amounts: TypeAlias = dict[str, Amount]
Verdict: TypeAlias = Literal["same", "better", "different", "consolidation"]


class Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"
):
    """A mapping in a file, with no field that is not known."""


class Node(Record, frozen=True, kw_only=True):
    """Equal nodes; amounts by resource, ``gpu`` for GPUs."""

    name: str
    offers: Amounts
    labels: dict[str, str] = {}
    taints: list[str] = []
    """Keys of taints that keep pods away."""


class Queue(Record, frozen=True, kw_only=True):
    """A KAI queue, or a Kueue ClusterQueue; an amount of -1 means no limit."""

    name: str
    parent: str = ""
    priority: int | None = None
    quota: Amounts = {}
    limit: Amounts = {}
    weight: Amounts = {}
    preempt_min_runtime: str = ""
    reclaim_min_runtime: str = ""
    within_cluster_queue: str = ""
    """The ClusterQueue's policy of preemption."""
    strict: bool = False
    """Whether the ClusterQueue is ``StrictFIFO``."""
    flavors: dict[str, Amounts] = {}
    """The ClusterQueue's nominal quota by flavor, in the order in which flavors are tried."""


class Flavor(Record, frozen=True, kw_only=True):
    """A ResourceFlavor of Kueue."""

    name: str
    labels: dict[str, str] = {}
    topology: str = ""
    tolerates: list[str] = []
    """Keys of taints that it tolerates for its pods."""


class Close(Record, frozen=True, kw_only=True):
    """A topology constraint: levels of one topology."""

    topology: str = "tree"
    required: str = ""
    preferred: str = ""
    unconstrained: bool = False
    """Whether any domain will do, as Kueue has it."""


class Affinity(Record, frozen=True, kw_only=True):
    """A required pod affinity or anti-affinity to pods with these labels."""

    labels: dict[str, str]
    topology_key: str
    anti: bool = False


class Pods(Record, frozen=True, kw_only=True):
    """Equal pods of a unit."""

    count: int = 1
    needs: Amounts = {}
    node: str = ""
    """Where they run at the start; without it they wait."""
    leaving: bool = False
    """Whether they are terminating at the start."""
    stays: bool = False
    """Whether they never end once they are told to go."""
    ended: Literal["", "Failed", "Succeeded"] = ""
    """How they have ended before the start."""
    ran: int | float | None = None
    """Seconds that they have run at the start; without it, since their unit was created, or in tables of kube-scheduler a minute."""
    group: str = ""
    """Their subgroup."""
    nodes: list[str] = []
    """The only nodes that they may use."""
    selector: dict[str, str] = {}
    priority: int | None = None
    labels: dict[str, str] = {}
    affinity: list[Affinity] = []
    spread: list[str] = []
    """Labels over whose values pods with the same labels are spread with a skew of at most 1."""
    port: int | None = None
    overhead: Amounts = {}
    arrives: int | float | None = None
    """Seconds after the start at which they are created, where it is after their unit."""
    order: int | None = None
    """KAI's ``kai.scheduler/task-priority``: pods with higher numbers first."""
    tolerates: list[str] = []


class Group(Record, frozen=True, kw_only=True):
    """A subgroup: one without pods has other subgroups."""

    name: str
    parent: str = ""
    minimum: int | None = None
    min_groups: int | None = None
    close: Close | None = None


class Unit(Record, frozen=True, kw_only=True):
    """What is scheduled as one; units are listed in the order in which they were created."""

    name: str
    kind: Literal["kai", "kubernetes", "pod", "kueue"] = "kai"
    """A KAI PodGroup, a PodGroup of Kubernetes, a pod of its own, or a Job in a Kueue queue.

    A Job counts as one in outcomes. It runs at the start if its pods do; one that waits and is listed before
    those is held back until they run.
    """
    queue: str = ""
    priority: int = 0
    preemptible: bool | None = None
    preempts: bool = True
    minimum: int | None = None
    """How many pods must run at once; without it, all of them (of a PodGroup of Kubernetes: one)."""
    min_groups: int | None = None
    groups: list[Group] = []
    close: Close | None = None
    preemption_delay: str = ""
    staleness: str = ""
    """``stalenessGracePeriod``."""
    single: bool = False
    """Whether pods of it may be preempted one by one (``disruptionMode``)."""
    returns: bool = True
    """Whether what made its pods makes them again when they are evicted."""
    age: int | float | None = None
    """Seconds before the start at which it was created; without it, the last one a minute, others a minute more."""
    arrives: int | float | None = None
    """Seconds after the start at which it is created."""
    leaves: int | float | None = None
    """Seconds after the start at which it is deleted."""
    pods: list[Pods] = []


class Budget(Record, frozen=True, kw_only=True):
    """A PodDisruptionBudget."""

    name: str
    labels: dict[str, str]
    min_available: Amount | None = None
    max_unavailable: Amount | None = None


class Result(Record, frozen=True, kw_only=True):
    """What became of the pods of a unit that were there or were waited for."""

    bound: int = 0
    waiting: int = 0
    evicted: int = 0
    """How many evictions there were; more than pods where it never comes to rest."""
    nodes: dict[str, int] | None = None
    """Bound pods by node; None where a table does not fix it."""
    within: list[str] = []
    """The only nodes that bound pods may use, where a table says so."""
    together: str = ""
    """The label of which all nodes of bound pods have one value, where a table says so."""


Outcome: TypeAlias = dict[str, Result]


class Case(Record, frozen=True, kw_only=True):
    """One case of a table."""

    id: str
    """The promise, in our words."""
    upstream: str
    """The name of the case in the file of the table, and its function where names repeat."""
    rounds: int | None = None
    """How many rounds the peer's own test runs until the outcome must hold, where it says so."""
    seconds: int | float | None = None
    """How long the scheduler works, where it is not until all has come to rest."""
    topologies: dict[str, list[str]] = {}
    nodes: list[Node] = []
    queues: list[Queue] = []
    flavors: list[Flavor] = []
    budgets: list[Budget] = []
    units: list[Unit] = []
    expected: Outcome
    verdict: Verdict
    cause: str = ""
    """For every verdict but ``same``: a key of ``causes.yaml``."""
    reason: str = ""
    """What is particular to this case."""
    closeknit: Outcome | None = None
    """What Closeknit does, where it differs."""


class Table(Record, frozen=True, kw_only=True):
    """One file of cases."""

    source: str
    """The file in the peer's repository."""
    revision: str
    title: str
    cases: list[Case] = []
    not_expressible: dict[str, list[str]] = {}
    """By reason, the cases that these records cannot express."""


def files(peer: str) -> list[Path]:
    """The tables of a peer."""
    return sorted((FOLDER / peer).glob("*.yaml"))


@cache
def read(file: Path) -> Table:
    """A table."""
    with file.open(encoding="utf-8") as stream:
        return msgspec.convert(yaml.load(stream, Loader=yaml.CSafeLoader), Table)


@cache
def causes() -> Mapping[str, str]:
    """By key, why outcomes differ."""
    found: dict[str, str] = yaml.safe_load(CAUSES.read_text(encoding="utf-8"))
    return found


def cases(peer: str) -> list[tuple[Path, Case]]:
    """All cases of a peer with the file of each."""
    return [(file, case) for file in files(peer) for case in read(file).cases]


# ------------------------------------------------------------------------------------------------ writing


def written(table: Table) -> str:
    """A table as text: one line for each node, queue, unit and outcome, as far as that is readable."""
    lines = [f"{name}: {_flow(getattr(table, name))}" for name in ("title", "source", "revision")]
    if table.not_expressible:
        lines.append("notExpressible:")
        for why, names in table.not_expressible.items():
            lines += [f"  {_flow(why)}:", *(f"  - {_flow(name)}" for name in names)]
    if table.cases:
        lines.append("cases:")
    for case in table.cases:
        lines += ["", written_case(case)]
    return "\n".join(lines) + "\n"


def written_case(case: Case) -> str:
    """A case as it stands in its table."""
    return "\n".join(_block(_plain(case), "- "))


def _block(fields: Mapping[str, Any], first: str) -> list[str]:
    lines: list[str] = []
    for name, value in fields.items():
        start = first if not lines else " " * len(first)
        if isinstance(value, list):
            lines.append(f"{start}{name}:")
            for each in value:
                lines += _item(each, " " * len(first))
        elif isinstance(value, dict) and value and name in ("expected", "closeknit"):
            lines.append(f"{start}{name}:")
            lines += [f"{' ' * len(first)}  {_flow(key)}: {_flow(inner)}" for key, inner in value.items()]
        else:
            lines.append(f"{start}{name}: {_flow(value)}")
    return lines


def _item(value: Any, indent: str) -> list[str]:
    whole = f"{indent}- {_flow(value)}"
    if len(whole) <= _WIDE or not isinstance(value, dict) or "pods" not in value:
        return [whole]
    # Pods of a unit on lines of their own.
    head = {name: inner for name, inner in value.items() if name != "pods"}
    lines = [f"{indent}- {_flow(head)[:-1]}, pods: ["]
    lines += [f"{indent}    {_flow(each)}," for each in value["pods"]]
    lines[-1] = lines[-1].removesuffix(",") + "]}"
    return lines


_WIDE = 150


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _flow(value: Any) -> str:
    text = yaml.dump(
        value, default_flow_style=True, width=1_000_000, sort_keys=False, allow_unicode=True, Dumper=_Dumper
    )
    return text.removesuffix("\n").removesuffix("\n...")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def write(file: Path, table: Table) -> None:
    """Write a table."""
    file.write_text(written(table), encoding="utf-8")
    read.cache_clear()
