"""``closeknit apply``: bring the objects of files into a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import typer

from closeknit.cli import clusters, options
from closeknit.cli.clusters import AskedCluster, upper
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid
from closeknit.cli.loading import working
from closeknit.cli.resource_names import label
from closeknit.cli.written_objects import DESCRIBING, Object, WrittenObject, objects_in
from closeknit.dialects import KINDS
from closeknit.dialects.definitions import FAMILIES
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.sentences import kube as kube_sentences
from closeknit.kube.errors import ApiError, ConflictError, InvalidObjectError, NotFoundError
from closeknit.kube.port import ApplyPatch
from closeknit.kube.resources import Resource
from closeknit.scheduler.wording import counted, first_line, printable

_Told: TypeAlias = str | list[Problem]
"""What became of an object, or all for which it was refused."""

MANAGER = "closeknit"
_FIRST = frozenset({"CustomResourceDefinition", "Namespace", "PriorityClass", "ServiceAccount"})
"""Kinds that objects of others need to be there."""
_TRIES = 40
"""How often, four times a second, a server is asked whether it has taken up a new definition."""
_BY_SERVERS = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)


def apply(
    files: options.Files,
    *,
    namespace: options.Namespace = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Let the cluster check everything, and change nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields that others have written.")
    ] = False,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
) -> None:
    """Create or change the objects of the files in a cluster.

    This is Kubernetes' server-side apply, as field manager closeknit. All objects are tried, and everything
    that is refused is told. OSMO pools and workflows may be in their own format.
    """
    with refusing_invalid():
        objects = objects_in(files)
    job = _Job(namespace, dry_run=dry_run, force=force)
    results = clusters.ask(context, kubeconfig, lambda cluster: job.run(cluster, objects))
    sys.stdout.writelines(f"{printable(each)}\n" for each in results if isinstance(each, str))
    problems = [problem for each in results if not isinstance(each, str) for problem in each]
    complain(problems)
    if not objects:
        sys.stderr.write("note: The files hold no object.\n")
    finish(ExitStatus.INVALID if problems else ExitStatus.DONE)


@dataclass(frozen=True, slots=True)
class _Job:
    """How objects are applied."""

    namespace: str
    dry_run: bool
    force: bool

    async def run(self, cluster: AskedCluster, objects: Sequence[WrittenObject]) -> list[_Told]:
        """What became of each object, in the order of the files."""
        results: dict[int, _Told] = {}
        resources = await cluster.api.resources()
        with working(f"Applying {counted(len(objects), 'object')}", big=True, steps=len(objects)) as step:

            async def one(number: int) -> None:
                results[number] = await self._told(cluster, objects[number], resources)
                step()

            first = [i for i, each in enumerate(objects) if comes_first(each)]
            await clusters.in_parallel(one, first)
            if any(objects[i].kind == "CustomResourceDefinition" for i in first) and not self.dry_run:
                resources = await _taken_up(cluster, objects)
            # A webhook measures workloads by these.
            await clusters.in_parallel(
                one, [i for i, each in enumerate(objects) if each.kind in DESCRIBING and i not in results]
            )
            await clusters.in_parallel(one, [i for i in range(len(objects)) if i not in results])
        return [results[i] for i in range(len(objects))]

    async def _told(
        self, cluster: AskedCluster, written: WrittenObject, resources: Iterable[Resource]
    ) -> _Told:
        resource = resource_of(written, resources)
        if resource is None:
            return [written.problem(unserved(written, resources, cluster.name))]
        if not written.name:
            return [written.problem(kube_sentences.UNNAMED_OBJECT.at(("metadata", "name")))]
        namespace = namespace_of(written, resource, self.namespace or cluster.namespace)
        try:
            done = await self._applied(cluster, written, resource, namespace)
        except ApiError as error:
            if clusters.is_passing(error):
                raise
            return [written.problem(each) for each in _refusals(written, error, namespace)]
        return f"{label(resource, written.name)} {done}{' (dry run)' if self.dry_run else ''}"

    async def _applied(
        self, cluster: AskedCluster, written: WrittenObject, resource: Resource, namespace: str
    ) -> str:
        metadata = {key: value for key, value in written.metadata.items() if key not in _BY_SERVERS}
        metadata |= {"namespace": namespace} if namespace else {}
        body = {**written.object, "metadata": metadata}
        try:
            before = await cluster.api.get(resource, written.name, namespace=namespace)
        except NotFoundError:
            before = None
        patch = ApplyPatch(body, MANAGER, force=self.force)
        after = await cluster.api.patch(
            resource, written.name, patch, namespace=namespace, dry_run=self.dry_run
        )
        if before is None:
            return "created"
        return "unchanged" if _state(before) == _state(after) else "configured"


def _state(obj: Mapping[str, Any]) -> Object:
    """An object without what changes by itself, or only tells who wrote it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _BY_SERVERS}
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}


async def _taken_up(cluster: AskedCluster, objects: Sequence[WrittenObject]) -> tuple[Resource, ...]:
    """What is served once all that is needed is; or after a while, whatever is."""
    resources = await cluster.api.resources()
    for _ in range(_TRIES):
        if all(resource_of(each, resources) is not None for each in objects):
            break
        await asyncio.sleep(0.25)
        resources = await cluster.api.resources()
    return resources


def comes_first(written: WrittenObject) -> bool:
    """Whether others need it to be there."""
    return written.kind in _FIRST


def resource_of(written: WrittenObject, resources: Iterable[Resource]) -> Resource | None:
    """The resource that an object belongs to."""
    wanted = (written.api_version, written.kind)
    return next((each for each in resources if (each.api_version, each.kind) == wanted), None)


def namespace_of(written: WrittenObject, resource: Resource, usual: str) -> str:
    """The namespace that an object says, or else the usual one; none where its kind has none."""
    if not resource.namespaced:
        return ""
    given = written.metadata.get("namespace")
    return given if isinstance(given, str) and given else usual


def unserved(written: WrittenObject, resources: Iterable[Resource], cluster: str) -> Problem:
    """Why an object cannot be in a cluster, and what would help."""
    group = written.api_version.rpartition("/")[0]
    versions = [each.api_version for each in resources if (each.group, each.kind) == (group, written.kind)]
    if any((each.group, each.kind, each.named) == (group, written.kind, False) for each in KINDS):
        remedy = "It is a file for a program, and no object of a cluster. Leave it out."
    elif versions:
        remedy = f"It serves {', '.join(versions)}; write that instead."
    elif family := _family_of(group, written.kind):
        remedy = f"Install it first: closeknit crds --family {family} | closeknit apply -f -"
    elif near := nearest(written.kind, {each.kind for each in resources if each.group == group}):
        remedy = f"Did you mean {near}?"
    else:
        remedy = "Install the definition of the kind first, or correct apiVersion and kind."
    facts = {
        "cluster": upper(cluster),
        "kind": written.kind,
        "version": written.api_version,
        "remedy": remedy,
    }
    return sentences.UNSERVED_VERSION.at(("apiVersion",), **facts)


def _family_of(group: str, kind: str) -> str:
    """The family whose definitions hold a kind; empty where none does."""
    for name, definitions in FAMILIES.items():
        for each in definitions:
            spec = each.written()["spec"]
            if (spec["group"], spec["names"]["kind"]) == (group, kind):
                return name
    return ""


def _refusals(written: WrittenObject, error: ApiError, namespace: str) -> Iterator[Problem]:
    """Everything for which an object was refused."""
    match error:
        case InvalidObjectError() if error.status.causes:
            for cause in error.status.causes:
                # Some servers add how the object would have changed, over many lines.
                message = first_line(cause.message)
                yield kube_sentences.REFUSED.at((Verbatim(cause.field),), message=message)
        case ConflictError():
            yield sentences.FIELDS_OF_OTHERS.at((), message=f"{str(error).rstrip('.')}.")
        case NotFoundError() if namespace:
            if written.metadata.get("namespace"):
                field = ("metadata", "namespace")
                yield sentences.NO_NAMESPACE_OF_OBJECT.at(field, namespace=namespace)
            else:
                yield sentences.NO_SUCH_NAMESPACE.at((), namespace=namespace)
        case _:
            yield kube_sentences.REFUSED.at((), message=str(error))
