"""``closeknit get``: objects of a cluster, as its server would have them printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from closeknit.cli import clusters, manifests, options
from closeknit.cli.clusters import AskedCluster
from closeknit.cli.exits import refusing_invalid
from closeknit.cli.resource_names import label, resource_named, resources_named
from closeknit.cli.scheduler_names import OPTION, SchedulerNames, schedulers_named
from closeknit.cli.tables import TablePrinter
from closeknit.cli.workloads import WORKLOADS, show
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, Problem, shown
from closeknit.hub.sentences import cli as sentences
from closeknit.kube.errors import ForbiddenError, GoneError, NotFoundError
from closeknit.kube.port import PAGE_SIZE, Bookmark, ChangeType, Object, Selection, pages
from closeknit.kube.resources import NAMESPACES, Resource
from closeknit.scheduler.wording import printable

if TYPE_CHECKING:
    from closeknit.kube.rest.tables import Table


class Output(Enum):
    """How objects are printed."""

    TABLE = "table"
    WIDE = "wide"
    YAML = "yaml"
    JSON = "json"
    NAME = "name"


def get(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="Such as pods, po, podgroup or jobs.batch; several with commas between them."
            " workloads are those of all families, with how far each has come.",
        ),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Left out: all of them.")] = "",
    *,
    all_namespaces: Annotated[
        bool, typer.Option("-A", "--all-namespaces", help="In all namespaces.")
    ] = False,
    namespace: options.Namespace = "",
    selector: Annotated[
        str, typer.Option("-l", "--selector", metavar="LABELS", help="Such as app=web,tier!=test.")
    ] = "",
    columns: Annotated[
        str,
        typer.Option(
            "-L", "--label-columns", metavar="KEY,...", help="Labels that get a column of their own."
        ),
    ] = "",
    output: Annotated[Output, typer.Option("-o", "--output", help="How to print them.")] = Output.TABLE,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="Go on with every change, until Ctrl-C.")
    ] = False,
    scheduler_names: SchedulerNames = [],  # noqa: B006 (Typer copies it)
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
) -> None:
    """Show objects of a cluster, in the columns of their kind."""
    # As with kubectl, KIND/NAME is one word for two.
    kind, _, behind = kind.partition("/")
    view = View(
        kind=kind,
        name=name or behind,
        namespace=namespace,
        everywhere=all_namespaces,
        selector=selector,
        labels=tuple(filter(None, columns.split(","))),
        output=output,
        watch=watch,
        schedulers=tuple(scheduler_names),
    )
    with refusing_invalid():
        view.check()
    clusters.ask(context, kubeconfig, view.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What to show, and how."""

    kind: str
    name: str
    namespace: str
    everywhere: bool
    selector: str
    labels: tuple[str, ...]
    output: Output
    watch: bool
    schedulers: tuple[str, ...]

    @property
    def of_all_families(self) -> bool:
        """Whether it is our own table of workloads, and not a kind that the server prints."""
        return self.kind == WORKLOADS and self.output in (Output.TABLE, Output.WIDE)

    def check(self) -> None:
        """Refuse options that would have no effect, and names that no scheduler has."""
        schedulers_named(self.schedulers)
        if self.of_all_families:
            wrong = sentences.NOT_FOR_ALL_FAMILIES
            given = {"-l": self.selector, "-L": self.labels}
        else:
            wrong = sentences.ONLY_FOR_ALL_FAMILIES
            given = {OPTION: self.schedulers}
        problems = [wrong.at((Verbatim(option),)) for option, value in given.items() if value]
        if problems:
            raise InvalidError(problems)

    async def shown(self, cluster: AskedCluster) -> None:
        """Print it."""
        if self.of_all_families:
            await show(
                cluster,
                namespace=self.namespace or cluster.namespace,
                name=self.name,
                everywhere=self.everywhere,
                watch=self.watch,
                schedulers=schedulers_named(self.schedulers),
            )
            return
        served = await cluster.api.resources()
        if self.watch:
            found = [resource_named(self.kind, served, cluster.name)]
        else:
            found = resources_named(self.kind, served, cluster.name)
        if self.output in (Output.TABLE, Output.WIDE):
            await self._tables(cluster, found)
        else:
            await self._objects(cluster, found)

    def selection(self, cluster: AskedCluster, resource: Resource) -> Selection:
        """Which objects of a resource are meant."""
        within = "" if self.everywhere or not resource.namespaced else self.namespace or cluster.namespace
        fields = f"metadata.name={self.name}" if self.name else ""
        return Selection(namespace=within, labels=self.selector, fields=fields)

    async def _tables(self, cluster: AskedCluster, resources: Sequence[Resource]) -> None:
        shown = 0
        for resource in resources:
            selection = self.selection(cluster, resource)
            table = await whole_table(cluster, resource, selection)
            if not table.rows and not self.watch:
                continue
            sys.stdout.write("\n" if shown else "")
            shown += 1
            printer = TablePrinter(
                table.columns,
                wide=self.output is Output.WIDE,
                namespaces=self.everywhere and resource.namespaced,
                labels=self.labels,
                prefix=label(resource, "") if len(resources) > 1 else "",
            )
            sys.stdout.writelines(printer.lines(table.rows))
            if self.watch:
                await self._watched(cluster, resource, selection, printer, table.resource_version)
        if not shown:
            await self._require_there(cluster, resources[0])
            sys.stderr.write(f"{_none(resources, self.selection(cluster, resources[0]))}\n")

    async def _require_there(self, cluster: AskedCluster, resource: Resource) -> None:
        """Refuse a namespace or a name that is not there, where nothing was found."""
        namespace = self.selection(cluster, resource).namespace
        if namespace:
            try:
                await cluster.api.get(NAMESPACES, namespace)
            except NotFoundError as error:
                wrong = sentences.NO_SUCH_NAMESPACE.at((Verbatim("-n"),), namespace=namespace)
                raise InvalidError([wrong]) from error
            except ForbiddenError:
                # Who may look into a namespace need not be allowed to look at it.
                pass
        if self.name:
            raise InvalidError([await no_such_object(cluster, resource, self.name, namespace)])

    async def _watched(
        self,
        cluster: AskedCluster,
        resource: Resource,
        selection: Selection,
        printer: TablePrinter,
        version: str,
    ) -> None:
        while True:
            sys.stdout.flush()
            try:
                events = cluster.api.watch_table(resource, selection, resource_version=version)
                async with aclosing(events):
                    async for change, table in events:
                        version = table.resource_version or version
                        for row in table.rows:
                            version = row.metadata.get("resourceVersion", version)
                        if change is not None:
                            sys.stdout.writelines(printer.lines(table.rows, header=False))
                            sys.stdout.flush()
            except GoneError:
                # What happened in between is not known any more, so everything is shown as it is now.
                table = await whole_table(cluster, resource, selection)
                sys.stdout.writelines(printer.lines(table.rows, header=False))
                version = table.resource_version

    async def _objects(self, cluster: AskedCluster, resources: Sequence[Resource]) -> None:
        found: list[tuple[Resource, Object]] = []
        version = ""
        for resource in resources:
            selection = self.selection(cluster, resource)
            async for page in pages(cluster.api, resource, selection):
                found.extend((resource, each) for each in page.items)
                version = page.resource_version
        if not found and not self.watch:
            await self._require_there(cluster, resources[0])
        self._print(found)
        if self.watch:
            await self._watch_objects(cluster, resources[0], version)

    async def _watch_objects(self, cluster: AskedCluster, resource: Resource, version: str) -> None:
        selection = self.selection(cluster, resource)
        while True:
            sys.stdout.flush()
            events = cluster.api.watch(resource, selection, resource_version=version)
            try:
                async with aclosing(events):
                    async for event in events:
                        version = event.resource_version
                        if not isinstance(event, Bookmark) and event.type is not ChangeType.DELETED:
                            self._print([(resource, event.object)], separate=True)
                            sys.stdout.flush()
            except GoneError:
                # Everything is shown again, as it is now.
                version = ""

    def _print(self, found: Sequence[tuple[Resource, Object]], *, separate: bool = False) -> None:
        objects = [cleaned(each) for _, each in found]
        match self.output:
            case Output.NAME:
                sys.stdout.writelines(
                    f"{printable(label(resource, each['metadata']['name']))}\n" for resource, each in found
                )
            case Output.YAML:
                sys.stdout.write("---\n" if separate else "")
                sys.stdout.writelines(manifests.as_yaml(objects))
            case _ if self.name and len(objects) == 1:
                sys.stdout.write(manifests.as_one_json(objects[0]))
            case _:
                sys.stdout.writelines(manifests.as_json(objects))


def cleaned(obj: Object) -> Object:
    """An object without the record of who wrote which field, which nobody reads."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def _none(resources: Sequence[Resource], selection: Selection) -> str:
    names = ", ".join(each.qualified for each in resources)
    where = f" in namespace {selection.namespace}" if selection.namespace else ""
    return printable(f"There are no {names}{where}.")


async def whole_table(cluster: AskedCluster, resource: Resource, selection: Selection) -> Table:
    """All pages of a table as one."""
    table = await cluster.api.table(resource, selection, limit=PAGE_SIZE)
    while table.token:
        more = await cluster.api.table(resource, selection, limit=PAGE_SIZE, token=table.token)
        table.rows.extend(more.rows)
        table = type(table)(table.columns, table.rows, more.resource_version, more.token)
    return table


async def no_such_object(cluster: AskedCluster, resource: Resource, name: str, namespace: str) -> Problem:
    """The problem that an object is not there, with the nearest that is."""
    page = await cluster.api.list(resource, Selection(namespace=namespace), limit=PAGE_SIZE)
    near = nearest(name, [each["metadata"]["name"] for each in page.items])
    place = f"namespace {namespace}" if namespace else cluster.name
    if near is not None:
        remedy = f" Did you mean {shown(near)}?"
    else:
        everywhere = " -A" if namespace else ""
        remedy = f" closeknit get {resource.qualified}{everywhere} lists those that are there."
    path = (Verbatim("NAME"),)
    return sentences.NO_SUCH_OBJECT.at(path, kind=resource.kind, name=name, place=place, remedy=remedy)
