"""The cluster that a command asks, and what is said where it cannot be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import typer

from closeknit.cli.exits import ExitStatus, complain
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.sentences import cli as sentences
from closeknit.kube.errors import TRANSIENT, ApiError, ForbiddenError, UnauthorizedError
from closeknit.scheduler.wording import printable

if TYPE_CHECKING:
    from closeknit.kube.rest import RestApi
    from closeknit.kube.rest.access import LoadedAccess

_A = TypeVar("_A")
_T = TypeVar("_T")
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster that can be asked."""

    api: RestApi
    name: str
    """As in ``the cluster (context training)``."""
    namespace: str
    """The one that people mean when they name none."""


def ask(context: str, kubeconfig: str, question: Callable[[AskedCluster], Awaitable[_T]]) -> _T:
    """Ask a cluster something. Ends the command with one sentence where that cannot be done at all.

    Wrong usage and credentials end it as invalid input does; a server that fails or is not there, as
    something unexpected does, because trying again may help.
    """
    # Reading kubeconfigs takes a library that is slow to load, and most commands never ask a cluster.
    from closeknit.kube.rest import ConfigurationError, load_access

    try:
        access = load_access(kubeconfig=kubeconfig, context=context)
    except ConfigurationError as error:
        option = "--context" if context else "--kubeconfig"
        complain([sentences.NO_CLUSTER.at((Verbatim(option),), reason=str(error))])
        raise typer.Exit(ExitStatus.INVALID) from error
    try:
        return asyncio.run(_asked(access, question))
    except InvalidError as error:
        complain(error.problems)
        raise typer.Exit(ExitStatus.INVALID) from error
    except ApiError as error:
        problem, status = _failure(error, access)
        complain([problem])
        raise typer.Exit(status) from error


async def _asked(access: LoadedAccess, question: Callable[[AskedCluster], Awaitable[_T]]) -> _T:
    from closeknit.kube.rest import connect

    async with connect(access, component="cli") as api:
        return await question(AskedCluster(api, name_of(access.context), access.namespace))


async def in_parallel(work: Callable[[_A], Awaitable[_T]], each_of: Iterable[_A]) -> list[_T]:
    """The results of doing something with each, in order, with a few under way at a time."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(given: _A) -> _T:
        async with limit:
            return await work(given)

    return await asyncio.gather(*map(one, each_of))


def is_passing(error: ApiError) -> bool:
    """Whether it is about the server or the network, and not about what was asked."""
    return isinstance(error, (*TRANSIENT, UnauthorizedError))


def name_of(context: str) -> str:
    """How messages speak of a cluster."""
    return f"the cluster (context {printable(context)})" if context else "the cluster"


def _failure(error: ApiError, access: LoadedAccess) -> tuple[Problem, ExitStatus]:
    cluster = upper(name_of(access.context))
    reason = str(error).removesuffix(".")
    if isinstance(error, UnauthorizedError):
        address = access.address or "whose address is not known"
        wrong = sentences.NOT_LOGGED_IN.at(cluster=cluster, address=address, reason=reason)
        return wrong, ExitStatus.INVALID
    if isinstance(error, TRANSIENT):
        # What was asked first says nothing about why the server is not there.
        method, _, rest = reason.partition(": ")
        reason = rest if rest and method.partition(" ")[0].isupper() else reason
        return sentences.CLUSTER_NOT_REACHED.at(cluster=cluster, reason=reason), ExitStatus.UNEXPECTED
    if isinstance(error, ForbiddenError):
        return sentences.NOT_PERMITTED.at(cluster=cluster, reason=reason), ExitStatus.INVALID
    return sentences.CLUSTER_REFUSED.at(cluster=cluster, reason=str(error)), ExitStatus.INVALID


def upper(sentence: str) -> str:
    """A text that begins a sentence."""
    return sentence[:1].upper() + sentence[1:]
