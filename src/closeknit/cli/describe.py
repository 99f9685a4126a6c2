"""``closeknit describe``: one object of a cluster, with what happened to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from closeknit.cli import clusters, manifests, options
from closeknit.cli.clusters import AskedCluster
from closeknit.cli.get import no_such_object
from closeknit.cli.resource_names import resource_named
from closeknit.cli.tables import aligned, cell
from closeknit.hub.problems import InvalidError
from closeknit.kube.errors import ForbiddenError, NotFoundError
from closeknit.kube.port import Object, Selection
from closeknit.kube.resources import CORE_EVENTS
from closeknit.scheduler.wording import printable

_APART = ("apiVersion", "kind", "metadata", "spec", "status")
_MOST_EVENTS = 500
_LONGEST_ANNOTATION = 140
"""As kubectl has it; what programs write there is longer, and conditions tell a person the same."""


def describe(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as pod, podgroup or jobs.batch.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name; or write KIND/NAME.")] = "",
    *,
    namespace: options.Namespace = "",
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
) -> None:
    """Tell all about one object: what it asks for, how it is, and its events."""
    kind, _, behind = kind.partition("/")
    if not (name or behind):
        raise typer.BadParameter("Name the object too, such as pod web-1.", param_hint="NAME")

    async def told(cluster: AskedCluster) -> tuple[Object, list[Object] | str]:
        resource = resource_named(kind, await cluster.api.resources(), cluster.name)
        within = (namespace or cluster.namespace) if resource.namespaced else ""
        try:
            found = await cluster.api.get(resource, name or behind, namespace=within)
        except NotFoundError as error:
            raise InvalidError([await no_such_object(cluster, resource, name or behind, within)]) from error
        return found, await _events(cluster, found)

    found, events = clusters.ask(context, kubeconfig, told)
    sys.stdout.writelines(described(found, events, datetime.now(UTC)))


async def _events(cluster: AskedCluster, obj: Object) -> list[Object] | str:
    """The events about an object, the oldest first; or why they are not known."""
    metadata = obj["metadata"]
    about = Selection(
        namespace=metadata.get("namespace", ""), fields=f"involvedObject.uid={metadata.get('uid', '')}"
    )
    try:
        page = await cluster.api.list(CORE_EVENTS, about, limit=_MOST_EVENTS)
    except ForbiddenError as error:
        return str(error)
    return sorted(page.items, key=_last)


def described(obj: Object, events: list[Object] | str, now: datetime) -> Iterator[str]:
    """An object as indented text, line by line."""
    metadata = obj["metadata"]
    owners = [f"{each.get('kind')}/{each.get('name')}" for each in metadata.get("ownerReferences") or ()]
    facts = [
        ("Name", metadata.get("name")),
        ("Namespace", metadata.get("namespace")),
        ("Kind", f"{obj.get('kind')} ({obj.get('apiVersion')})"),
        ("Created", _moment(metadata.get("creationTimestamp"), now)),
        ("Deleted", _moment(metadata.get("deletionTimestamp"), now)),
        ("Finalizers", ", ".join(metadata.get("finalizers") or ())),
        ("Owned by", ", ".join(owners)),
    ]
    yield from aligned([(f"{key}:", cell(value)) for key, value in facts if value])
    yield from _section("Labels", metadata.get("labels") or {})
    yield from _annotations(metadata.get("annotations") or {})
    yield from _section("Spec", obj.get("spec") or {})
    for key in obj:
        if key not in _APART:
            yield from _section(key[:1].upper() + key[1:], _hidden(obj, key))
    status = dict(obj.get("status") or {})
    conditions = status.pop("conditions", None)
    yield from _section("Status", status)
    yield from _conditions(conditions if isinstance(conditions, list) else [], now)
    yield from _told(events, now)


def _hidden(obj: Object, key: str) -> Any:
    """What stands at a key; of a Secret only how long each value is."""
    value = obj[key]
    if obj.get("kind") == "Secret" and key in ("data", "stringData") and isinstance(value, Mapping):
        return {name: f"{len(str(inner))} characters" for name, inner in value.items()}
    return value


def _annotations(annotations: Mapping[str, Any]) -> Iterator[str]:
    """Each in one line, as it was written; of a long one the beginning, and how long it is."""
    if annotations:
        yield "Annotations:\n"
    for key, value in annotations.items():
        text = str(value)
        shown = printable(text[:_LONGEST_ANNOTATION])
        rest = f"... ({len(text):,} characters)" if len(text) > _LONGEST_ANNOTATION else ""
        yield f"  {printable(key)}: {shown}{rest}\n"


def _section(title: str, value: Any) -> Iterator[str]:
    if value in ({}, [], None, ""):
        return
    if not isinstance(value, dict | list):
        yield f"{title}: {cell(value)}\n"
        return
    yield f"{title}:\n"
    # What a YAML writer makes of any value is escaped, and so harmless to a terminal.
    for line in manifests.as_lines(value):
        yield f"  {line}\n"


def _conditions(conditions: list[Any], now: datetime) -> Iterator[str]:
    if not conditions:
        return
    yield "Conditions:\n"
    rows = [("TYPE", "STATUS", "AGE", "REASON", "MESSAGE")]
    rows += (
        (
            cell(each.get("type")),
            cell(each.get("status")),
            _ago(each.get("lastTransitionTime"), now),
            cell(each.get("reason")),
            cell(each.get("message")),
        )
        for each in conditions
        if isinstance(each, Mapping)
    )
    yield from (f"  {line}" for line in aligned(rows))


def _told(events: list[Object] | str, now: datetime) -> Iterator[str]:
    if isinstance(events, str):
        yield f"Events: not known: {printable(events)}\n"
        return
    if not events:
        yield "Events: none\n"
        return
    yield "Events:\n"
    rows = [("LAST SEEN", "TYPE", "REASON", "FROM", "MESSAGE")]
    for each in events:
        count = each.get("count") or (each.get("series") or {}).get("count") or 1
        source = each.get("reportingComponent") or (each.get("source") or {}).get("component")
        seen = _ago(_last(each), now) + (f" (x{count})" if count > 1 else "")
        rows.append(
            (seen, cell(each.get("type")), cell(each.get("reason")), cell(source), cell(each.get("message")))
        )
    yield from (f"  {line}" for line in aligned(rows))


def _last(event: Object) -> str:
    """When an event was last seen; servers and clients write that in one of several fields."""
    series = event.get("series") or {}
    created = event["metadata"].get("creationTimestamp")
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), created)
    return next((str(each) for each in times if each), "")


def _moment(written: object, now: datetime) -> str:
    return f"{cell(written)} ({_ago(written, now)} ago)" if written else ""


def _ago(written: object, now: datetime) -> str:
    """How long ago a time was, in its largest unit."""
    try:
        seconds = int((now - datetime.fromisoformat(str(written)).astimezone(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return "<unknown>"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
