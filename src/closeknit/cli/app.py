"""The commands put together, and how the process ends."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from inspect import cleandoc
from io import TextIOWrapper
from textwrap import indent
from typing import Annotated, NoReturn

import typer

from closeknit.cli.apply import apply
from closeknit.cli.crds import crds
from closeknit.cli.delete import delete
from closeknit.cli.demo import demo
from closeknit.cli.describe import describe
from closeknit.cli.exits import ExitStatus
from closeknit.cli.explain import explain
from closeknit.cli.get import get
from closeknit.cli.nodes import nodes
from closeknit.cli.plan import plan
from closeknit.cli.pool import pool
from closeknit.cli.run import run as run_scheduler
from closeknit.cli.simulate import simulate
from closeknit.cli.status import status
from closeknit.cli.top import top
from closeknit.cli.topology import topology
from closeknit.cli.translate import translate
from closeknit.cli.up import up
from closeknit.cli.validate import validate
from closeknit.cli.web import web
from closeknit.scheduler.wording import printable

DEBUG = "CLOSEKNIT_DEBUG"
"""Set to anything but nothing or 0, an unexpected error shows its traceback."""

app = typer.Typer(
    name="closeknit",
    help="Places the pods of AI workloads close together: topology-aware scheduling for Kubernetes.",
    epilog="Example: closeknit demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_COMMANDS: Mapping[Callable[..., None], str] = {
    plan: """
        closeknit plan -f nodes.yaml -f workloads/ -o json
        closeknit plan --context training
        closeknit plan --context training -f job.yaml
    """,
    explain: """
        closeknit explain -f nodes.yaml -f workloads/ default/sample1
        closeknit explain --context training PodGroup/team-a/sample1
    """,
    validate: """
        closeknit validate -f workloads/
        closeknit validate -f new.yaml --old old.yaml
        closeknit validate -f workloads/ --context training
    """,
    status: """
        closeknit status -f workloads/ -f topology.yaml
        closeknit status --context training
    """,
    pool: """
        closeknit pool -f pools/ -f nodes.yaml
        closeknit pool --context training my-pool -o json
    """,
    translate: """
        closeknit translate -f workloads/ --to kai
    """,
    topology: """
        closeknit topology -f nodes.yaml --check
        closeknit topology -f nodes.yaml -o svg > cluster.svg
        closeknit topology --context training
    """,
    top: """
        closeknit top --context training
        closeknit top -f nodes.yaml --resource cpu --all
    """,
    nodes: """
        closeknit nodes --shape zone=2,block=4,rack=8,host=16 --gpus 8 --topology cluster-topology
        closeknit nodes --drawing cluster.txt
        closeknit nodes --context training > nodes.yaml
    """,
    crds: """
        closeknit crds | kubectl apply --server-side -f -
        closeknit crds --family grove
    """,
    demo: """
        closeknit demo
    """,
    run_scheduler: """
        closeknit run
        closeknit run --context training --scheduler-name kai-scheduler --dry-run
    """,
    apply: """
        closeknit apply -f workloads/ --context training
        closeknit crds | closeknit apply -f - --kubeconfig closeknit.kubeconfig
    """,
    get: """
        closeknit get workloads -A -w
        closeknit get podgroups,pods -n team-a
        closeknit get nodes -L topology/zone,topology/rack --context training
        closeknit get pods -A -l app=web -o wide -w
    """,
    describe: """
        closeknit describe podgroup sample1 -n team-a
        closeknit describe pod/web-1
    """,
    delete: """
        closeknit delete podgroup sample1 -n team-a --wait
        closeknit delete -f workloads/
    """,
    web: """
        closeknit web --context training
        closeknit web --kubeconfig closeknit.kubeconfig --port 0
    """,
    simulate: """
        closeknit simulate --generate 1000 --nodes block=4,rack=8,host=16
        closeknit simulate --trace trace.yaml --cluster nodes.yaml --node-loss 0.01 --merge-racks 2
        closeknit simulate --trace pods.csv --cluster hosts.csv --policy kai --policy closeknit
    """,
    up: """
        closeknit up
        closeknit up --nodes zone=2,block=4,rack=8,host=16 --state cluster.db
    """,
}
"""Every command, in the order of the help, with lines that show how it is called."""

for _command, _examples in _COMMANDS.items():
    app.command(_command.__name__, epilog=f"\b\nExamples:\n{indent(cleandoc(_examples), '  ')}")(_command)


def _tell_version(asked: bool) -> None:  # noqa: FBT001
    if not asked:
        return
    try:
        version = metadata.version("closeknit")
    except metadata.PackageNotFoundError:
        # Run from a source tree that was never installed.
        version = "of no release"
    sys.stdout.write(f"closeknit {version}\n")
    raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Stand for the program itself; its only option acts as soon as it is seen."""


def run(arguments: Sequence[str]) -> NoReturn:
    """Run one command and end the process; whatever a user gives, there is no traceback."""
    _write_anything()
    try:
        try:
            typer.main.get_command(app).main(args=list(arguments), prog_name="closeknit")
        finally:
            # What is still buffered may meet the broken pipe only now.
            sys.stdout.flush()
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):
            _leave_quietly()
        raise
    except BrokenPipeError:
        _leave_quietly()
    except Exception as error:  # noqa: BLE001
        _unexpected(error)
    sys.exit(ExitStatus.DONE)


def _write_anything() -> None:
    """Let a character that the terminal's encoding lacks come out as an escape instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_quietly() -> NoReturn:
    # Python flushes standard output once more at the end; that must not fail on the same pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(ExitStatus.BROKEN_PIPE)


def _unexpected(error: Exception) -> NoReturn:
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error)
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        # Files are named where they are written; this is what has no name.
        sys.stderr.write("closeknit: Standard output is not complete: No space left on device.\n")
    else:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        told = f"closeknit: unexpected error: {printable(words)[:500]}"
        sys.stderr.write(f"{told} (set {DEBUG}=1 to see where it came from)\n")
    sys.exit(ExitStatus.UNEXPECTED)
