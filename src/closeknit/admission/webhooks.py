"""The webhook configurations: which writes an API server asks about, and what it does without an answer.

Each family has two entries. One is for objects that ask for a topology, which are refused where nobody
answers; the other is for the rest, which are let through then.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from closeknit.admission.reviewed import REVIEWED, Reviewed

NAME: Final = "closeknit"
"""The name of both configurations, unless somebody chooses another."""
TIMEOUT: Final = 5
"""Seconds that an API server waits for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where an API server reaches the webhook."""

    client: Mapping[str, Any] = field(default_factory=dict)
    """``{"service": {"name": ..., "namespace": ..., "port": ...}}``, or ``{"url": "https://..."}``."""
    authorities: bytes = b""
    """The authorities to trust, as PEM; none where the webhook itself writes them later."""

    def config(self, path: str) -> dict[str, Any]:
        """The ``clientConfig`` of a path."""
        made: dict[str, Any] = {}
        if "url" in self.client:
            made["url"] = f"{self.client['url']}{path}"
        else:
            made["service"] = {**self.client["service"], "path": path}
        if self.authorities:
            made["caBundle"] = base64.b64encode(self.authorities).decode()
        return made


def entry_name(family: str, *, asks: bool) -> str:
    """The name of an entry, which every refusal quotes."""
    return f"{'constrained' if asks else 'others'}.{family}.closeknit.dev"


def configurations(
    endpoint: Endpoint, *, families: Collection[str], operators: Collection[str], name: str = NAME
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The mutating and the validating configuration, for the families that are managed.

    Writes of ``operators`` to topologies are not asked about, so that they can be made before anybody
    answers.
    """
    made = []
    for kind, path in (("Mutating", "mutate"), ("Validating", "validate")):
        entries = [
            entry
            for family, rows in REVIEWED.items()
            if family in families
            for entry in _entries(family, rows, path, endpoint, sorted(operators))
        ]
        made.append(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": entries,
            }
        )
    return made[0], made[1]


def _entries(
    family: str, rows: tuple[Reviewed, ...], path: str, endpoint: Endpoint, operators: list[str]
) -> Iterator[dict[str, Any]]:
    mutating = path == "mutate"
    rows = tuple(row for row in rows if row.defaulted or not mutating)
    for asks in (True, False):
        covered = [row for row in rows if (row.asks if asks else not row.only_asking and () not in row.asks)]
        if not covered:
            continue
        asking = _of_kind((row, row.asks_in_cel()) for row in covered)
        conditions = [_condition("asks-for-topology", asking)]
        if not asks:
            concerned = _of_kind((row, row.concerns_in_cel()) for row in covered)
            conditions = [
                _condition("asks-for-no-topology", f"!({asking})"),
                _condition("concerns-us", concerned),
            ]
        guarded = [row.plural for row in covered if row.protected]
        if asks and guarded and operators:
            listed = " || ".join(f"request.userInfo.username == '{user}'" for user in operators)
            resources = ", ".join(f"'{plural}'" for plural in guarded)
            conditions.append(
                _condition("not-an-operator", f"!(request.resource.resource in [{resources}] && ({listed}))")
            )
        yield {
            "name": entry_name(family, asks=asks),
            "admissionReviewVersions": ["v1"],
            "clientConfig": endpoint.config(f"/{path}/{family}"),
            "failurePolicy": "Fail" if asks else "Ignore",
            "matchConditions": conditions,
            "rules": [_rule(row, mutating=mutating) for row in covered],
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT,
            **({"reinvocationPolicy": "IfNeeded"} if mutating else {}),
        }


def _rule(row: Reviewed, *, mutating: bool) -> dict[str, Any]:
    operations = ["CREATE"] if mutating else ["CREATE", "UPDATE", *(["DELETE"] if row.protected else [])]
    return {
        "apiGroups": [row.group],
        "apiVersions": list(row.versions),
        "operations": operations,
        "resources": [row.plural],
        "scope": "*",
    }


def _of_kind(parts: Iterator[tuple[Reviewed, str]]) -> str:
    """One expression for several kinds: each is judged by its own."""
    return " || ".join(
        f"(request.resource.group == '{row.group}' && request.resource.resource == '{row.plural}'"
        f" && ({part}))"
        for row, part in parts
    )


def _condition(name: str, expression: str) -> dict[str, str]:
    return {"name": name, "expression": expression}
