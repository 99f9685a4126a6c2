"""``closeknit web``: the live map of a cluster in a browser."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from closeknit.cli import clusters, options
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid
from closeknit.cli.scheduler_names import SchedulerNames, schedulers_named
from closeknit.cli.working import cannot_listen, run_until, told_to_stop
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.server.access import Access

USUAL_PORT = 8080


def web(
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where to listen. Beyond loopback TLS and a token are needed."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")
    ] = USUAL_PORT,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask for the token that this file holds.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate in PEM, with --key, to speak TLS.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's private key.")] = None,
    scheduler_names: SchedulerNames = [],  # noqa: B006 (Typer copies it)
    server_names: Annotated[
        list[str],
        typer.Option(
            "--server-name", metavar="NAME", help="A further name under which browsers reach it. May repeat."
        ),
    ] = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Show the live map of a cluster in a browser, until Ctrl-C. Nothing is written to the cluster.

    It shows zones, racks, nodes and their GPUs, who holds them, what waits and why. The same is there for
    programs under /api/v1, which /openapi.json describes.
    """
    with refusing_invalid():
        access = _access(host, token_file, frozenset(server_names), secure=certificate is not None)
        tls = _tls(certificate, key)
        schedulers = schedulers_named(scheduler_names)
    finish(
        clusters.ask(
            context, kubeconfig, lambda asked: _serve(asked, host, port, access, tls, schedulers=schedulers)
        )
    )


def _access(host: str, token_file: Path | None, names: frozenset[str], *, secure: bool) -> Access:
    from closeknit.server.access import Access, is_loopback

    token = ""
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            where = (Verbatim(f"--token-file {token_file}"),)
            reason = getattr(error, "strerror", None) or "it holds no UTF-8 text"
            raise InvalidError([sentences.UNREADABLE_FILE.at(where, reason=reason)]) from error
        if not token:
            raise InvalidError([sentences.NO_TOKEN.at((Verbatim(f"--token-file {token_file}"),))])
    if not is_loopback(host) and not (token and secure):
        raise InvalidError([sentences.OPEN_TO_OTHERS.at((Verbatim("--host"),), host=host)])
    return Access(host, token, names)


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        if key is not None:
            raise InvalidError([sentences.KEY_ALONE.at((Verbatim("--key"),))])
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        # Which of the two files it is about, the system does not say.
        named = f"--certificate {certificate}" + (f" --key {key}" if key is not None else "")
        reason = "there is no certificate in PEM with its key" if isinstance(error, ssl.SSLError) else None
        wrong = sentences.UNREADABLE_FILE
        problem = wrong.at((Verbatim(named),), reason=reason or error.strerror or str(error))
        raise InvalidError([problem]) from error
    return context


async def _serve(
    asked: clusters.AskedCluster,
    host: str,
    port: int,
    access: Access,
    tls: ssl.SSLContext | None,
    *,
    schedulers: frozenset[str],
) -> ExitStatus:
    from closeknit.server.instance import MapInstance

    # Where the cluster cannot be reached, that is said before anything is served.
    await asked.api.version()
    dice = Random()  # noqa: S311 (it spreads calls in time, and guards nothing)
    shown = MapInstance(
        asked.api, random=dice, host=host, port=port, access=access, tls=tls, schedulers=schedulers
    )
    try:
        await shown.server.start()
    except OSError as error:
        complain([cannot_listen("--port", port, error)])
        return ExitStatus.INVALID
    told = told_to_stop()
    sys.stdout.write(f"The map of {asked.name} is on {shown.server.address}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    try:
        await run_until(told, [shown.run()])
    finally:
        await shown.server.stop()
    return ExitStatus.DONE
