"""URL paths and query parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from closeknit.kube.errors import BadRequestError
from closeknit.kube.numbers import digits
from closeknit.kube.port import DeleteOptions, Propagation, Selection

_NAMESPACE_PARTS: Final = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Route:
    """What a path names: a collection, an object, or a part of an object."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def route_of(raw_path: str) -> Route | None:
    """What a path names; None where it is not below ``/api/VERSION`` or ``/apis/GROUP/VERSION``."""
    parts = [unquote(part) for part in raw_path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _NAMESPACE_PARTS):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3 or not all(rest):
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return Route(group, version, plural, namespace, name, subresource)


def selection_of(route: Route, query: Mapping[str, str]) -> Selection:
    """Which objects a list, a watch or a deletion of many is about."""
    return Selection(
        namespace=route.namespace,
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
    )


def number(query: Mapping[str, str], name: str) -> int:
    """A whole number, 0 where it is not given."""
    text = query.get(name, "")
    if not text:
        return 0
    if (value := digits(text)) is None:
        raise BadRequestError(f"The parameter {name} must be a whole number, and is {text!r}.")
    return value


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a parameter says yes."""
    return query.get(name, "").lower() in ("1", "true", "t")


def dry_run(values: object) -> bool:
    """Whether nothing is to be written: the only stage of dry runs is ``All``."""
    listed = [values] if isinstance(values, str) and values else values
    if not listed:
        return False
    if not isinstance(listed, list) or any(value != "All" for value in listed):
        raise BadRequestError(f"The only value of dryRun is All, and {listed!r} was given.")
    return True


def delete_options(query: Mapping[str, str], body: Mapping[str, object]) -> DeleteOptions:
    """How to delete, as the body says, or the parameters where it does not."""
    preconditions = body.get("preconditions")
    preconditions = preconditions if isinstance(preconditions, Mapping) else {}
    grace = body.get("gracePeriodSeconds")
    if grace is None and query.get("gracePeriodSeconds"):
        grace = number(query, "gracePeriodSeconds")
    if grace is not None and (not isinstance(grace, int) or isinstance(grace, bool)):
        raise BadRequestError(f"gracePeriodSeconds must be a whole number, and is {grace!r}.")
    policy = body.get("propagationPolicy") or query.get("propagationPolicy")
    orphan = body.get("orphanDependents")
    if policy is None and isinstance(orphan, bool):
        policy = "Orphan" if orphan else "Background"
    known = {one.value: one for one in Propagation}
    if policy and (not isinstance(policy, str) or policy not in known):
        raise BadRequestError(
            f"propagationPolicy must be one of {', '.join(sorted(known))}, and is {policy!r}."
        )
    return DeleteOptions(
        grace_period=grace,
        propagation=known[str(policy)] if policy else None,
        uid=str(preconditions.get("uid") or ""),
        resource_version=str(preconditions.get("resourceVersion") or ""),
        dry_run=dry_run(body.get("dryRun")) or dry_run(query.get("dryRun", "")),
    )
