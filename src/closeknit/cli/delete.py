"""``closeknit delete``: take objects out of a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypeAlias

import typer

from closeknit.cli import clusters, options
from closeknit.cli.apply import comes_first, namespace_of, resource_of, unserved
from closeknit.cli.clusters import AskedCluster
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid
from closeknit.cli.get import no_such_object
from closeknit.cli.resource_names import resource_named
from closeknit.cli.written_objects import WrittenObject, objects_in
from closeknit.hub.copying import replace
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.sentences import kube as kube_sentences
from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.port import DeleteOptions, Object, Propagation
from closeknit.kube.resources import Resource
from closeknit.scheduler.wording import printable


class Cascade(Enum):
    """What becomes of the objects that name a deleted one as their owner."""

    BACKGROUND = "background"
    FOREGROUND = "foreground"
    ORPHAN = "orphan"


@dataclass(frozen=True, slots=True)
class _Target:
    """An object that is to go."""

    resource: Resource
    name: str
    namespace: str
    written: WrittenObject | None = None

    def problem(self, wrong: Problem) -> Problem:
        if self.written is not None:
            return self.written.problem(wrong)
        return wrong.of(self.resource.kind, self.name)

    @property
    def title(self) -> str:
        kind = self.resource.qualified.replace(self.resource.plural, self.resource.kind.lower(), 1)
        return f'{kind} "{self.name}"'


@dataclass(frozen=True, slots=True)
class _Deleted:
    """The API server accepted the deletion; with ``--wait``, the object is gone."""

    title: str


@dataclass(frozen=True, slots=True)
class _Refused:
    """The object could not be deleted."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class _Remaining:
    """The deletion was accepted, but the object still exists at the end of ``--timeout``."""

    problem: Problem


_Result: TypeAlias = _Deleted | _Refused | _Remaining
_NAME = ("metadata", "name")


def delete(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as pod or podgroup.")] = "",
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Which ones; or write KIND/NAME.")] = [],  # noqa: B006 (Typer copies it)
    *,
    files: options.Files = [],  # noqa: B006
    namespace: options.Namespace = "",
    cascade: Annotated[
        Cascade, typer.Option(help="When objects go that it owns: after it, before it, or not at all.")
    ] = Cascade.BACKGROUND,
    wait: Annotated[bool, typer.Option("--wait", help="Return only when they are gone.")] = False,
    timeout: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="How long to wait, with --wait.")
    ] = 60,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
) -> None:
    """Delete objects of a cluster: by name, or all that stand in files.

    All of them are tried, and everything that is refused is told.
    """
    kind, _, behind = kind.partition("/")
    wanted = [*([behind] if behind else []), *names]
    with refusing_invalid():
        if kind and files:
            raise InvalidError([sentences.KIND_AND_FILES.at()])
        if not files and not wanted:
            raise InvalidError([sentences.NOTHING_TO_DELETE.at()])
        objects = objects_in(files)
    job = _Job(Propagation(cascade.value.capitalize()), timeout if wait else 0)

    async def told(cluster: AskedCluster) -> list[_Result]:
        usual = namespace or cluster.namespace
        resources = await cluster.api.resources()
        results: list[_Result] = []
        if kind:
            resource = resource_named(kind, resources, cluster.name)
            within = usual if resource.namespaced else ""
            targets = [_Target(resource, name, within) for name in wanted]
        else:
            targets = _targets(objects, resources, usual, cluster.name, results)
        return [*results, *await job.run(cluster, targets)]

    results = clusters.ask(context, kubeconfig, told)
    deleted = [result for result in results if isinstance(result, _Deleted)]
    sys.stdout.writelines(f"{printable(result.title)} deleted\n" for result in deleted)
    problems = [result.problem for result in results if not isinstance(result, _Deleted)]
    complain(problems)
    if any(isinstance(result, _Remaining) for result in results):
        finish(ExitStatus.UNEXPECTED)
    finish(ExitStatus.INVALID if problems else ExitStatus.DONE)


def _targets(
    objects: Sequence[WrittenObject],
    resources: Sequence[Resource],
    usual: str,
    cluster: str,
    results: list[_Result],
) -> list[_Target]:
    """What files name; what others need goes last."""
    targets = []
    for each in sorted(objects, key=comes_first):
        resource = resource_of(each, resources)
        if resource is None:
            results.append(_Refused(each.problem(unserved(each, resources, cluster))))
        elif not each.name:
            results.append(_Refused(each.problem(kube_sentences.UNNAMED_OBJECT.at(_NAME))))
        else:
            targets.append(_Target(resource, each.name, namespace_of(each, resource, usual), each))
    return targets


@dataclass(frozen=True, slots=True)
class _Job:
    """How objects are deleted."""

    propagation: Propagation
    patience: int
    """For how many seconds to wait until all are gone."""

    async def run(self, cluster: AskedCluster, targets: Sequence[_Target]) -> list[_Result]:
        """What became of each. What others need goes only when those are gone, or were waited for."""
        ending = asyncio.get_running_loop().time() + self.patience
        last = [each for each in targets if each.written is not None and comes_first(each.written)]
        told: list[_Result] = []
        for part in ([each for each in targets if each not in last], last):
            answers = await clusters.in_parallel(lambda each: self._asked(cluster, each), part)
            pairs = zip(part, answers, strict=True)
            told += await clusters.in_parallel(lambda pair: self._gone(cluster, *pair, ending), pairs)
        return told

    async def _asked(self, cluster: AskedCluster, target: _Target) -> Object | Problem:
        how = DeleteOptions(propagation=self.propagation)
        try:
            return await cluster.api.delete(
                target.resource, target.name, namespace=target.namespace, options=how
            )
        except NotFoundError:
            missing = await no_such_object(cluster, target.resource, target.name, target.namespace)
            return missing if target.written is None else target.problem(replace(missing, path=_NAME))
        except ApiError as error:
            if clusters.is_passing(error):
                raise
            return target.problem(kube_sentences.REFUSED.at((), message=str(error)))

    async def _gone(
        self, cluster: AskedCluster, target: _Target, answer: Object | Problem, ending: float
    ) -> _Result:
        if isinstance(answer, Problem):
            return _Refused(answer)
        left = await _left(cluster, target, answer, ending) if self.patience else None
        if left is None:
            return _Deleted(target.title)
        held = ", ".join(left["metadata"].get("finalizers") or ())
        finalizers = f", held by {held}" if held else ""
        problem = sentences.STILL_THERE.at((), seconds=self.patience, finalizers=finalizers)
        return _Remaining(target.problem(problem))


async def _left(cluster: AskedCluster, target: _Target, answer: Object, ending: float) -> Object | None:
    """The object, if it is still there in the end; one that was made anew is another one."""
    uid = (answer.get("metadata") or {}).get("uid") or (answer.get("details") or {}).get("uid")
    pause = 0.05
    while True:
        try:
            found = await cluster.api.get(target.resource, target.name, namespace=target.namespace)
        except NotFoundError:
            return None
        if uid and found["metadata"].get("uid") != uid:
            return None
        if asyncio.get_running_loop().time() + pause > ending:
            return found
        await asyncio.sleep(pause)
        pause = min(pause * 2, 1.0)
