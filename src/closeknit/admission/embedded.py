"""Admission of an embedded cluster: the same functions, called in its process before it stores anything."""

from __future__ import annotations

from typing import Any

from closeknit.admission.requests import Request
from closeknit.admission.reviewed import Reviewed, reviewed_by
from closeknit.admission.reviewer import NotReadYetError, Reviewer
from closeknit.admission.webhooks import entry_name
from closeknit.hub.copying import replace
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.core import AdmissionRequest
from closeknit.kube.errors import InternalServerError, error_of


def admit(cluster: EmbeddedCluster, reviewer: Reviewer) -> None:
    """Ask about every write to come, as an API server with the webhook configurations would."""

    async def mutate(asked: AdmissionRequest) -> None:
        for family, _ in _concerned(reviewer, asked):
            made = await reviewer.defaulted(family, _request(asked))
            if made is not None and asked.obj is not None:
                changed: dict[str, Any] = dict(made)
                asked.obj.clear()
                asked.obj.update(changed)

    async def validate(asked: AdmissionRequest) -> None:
        for family, row in _concerned(reviewer, asked):
            request = _request(asked)
            asks = row.asks_for_topology(request.content)
            name = entry_name(family, asks=asks)
            try:
                found = await reviewer.review(family, request)
            except NotReadYetError:
                if asks:
                    message = f'failed calling webhook "{name}": The cluster has not been read yet.'
                    raise InternalServerError(f"Internal error occurred: {message}") from None
                continue
            asked.warnings.extend(found.warnings)
            if not found.allowed:
                status = found.status(request)
                raise error_of(
                    replace(
                        status, message=f'admission webhook "{name}" denied the request: {status.message}'
                    )
                )

    cluster.admit(mutate, mutating=True)
    cluster.admit(validate)


def _concerned(reviewer: Reviewer, asked: AdmissionRequest) -> list[tuple[str, Reviewed]]:
    """The families that have a say, with what they review."""
    obj = asked.obj if asked.obj is not None else asked.old
    if asked.subresource or obj is None:
        return []
    found = [(family, reviewed_by(family, asked.group, asked.kind)) for family in reviewer.families]
    return [
        (family, row)
        for family, row in found
        if row is not None and (row.protected or asked.operation != "DELETE") and row.concerns(obj)
    ]


def _request(asked: AdmissionRequest) -> Request:
    return Request(
        operation=asked.operation,
        group=asked.group,
        version=asked.version,
        kind=asked.kind,
        namespace=asked.namespace,
        name=asked.name,
        user=asked.user,
        obj=asked.obj,
        old=asked.old,
    )
