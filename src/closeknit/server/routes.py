"""Every address of the API with its parameters: served by ``app``, described by ``openapi``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from closeknit.server.api import Api, Asked, RefusedError
from closeknit.server.documents import (
    Document,
    Explanation,
    MapDocument,
    NodeList,
    OutcomeDocument,
    PlanDocument,
    Timeline,
    TopologyDocument,
    WorkloadDocument,
    WorkloadList,
)

ROOT = "/api/v1"
MOST_ITEMS = 10_000
STATES = ("running", "pending", "incomplete", "invalid")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query."""

    name: str
    says: str
    schema: dict[str, Any]

    def check(self, written: str) -> None:
        """Refuse what the schema does not allow."""
        most = self.schema.get("maximum")
        if most is not None:
            digits = written.isascii() and written.isdecimal() and len(written) <= len(str(most))
            if not digits or int(written) > most:
                _refuse(f"The parameter {self.name} must be a whole number from 0 to {most}.")
        elif (allowed := self.schema.get("enum")) is not None:
            if written not in allowed:
                _refuse(f"The parameter {self.name} must be one of {', '.join(allowed)}.")
        elif len(written) > self.schema["maxLength"]:
            _refuse(f"The parameter {self.name} may have {self.schema['maxLength']} characters at most.")


def _refuse(detail: str) -> NoReturn:
    raise RefusedError(400, "Bad Request", detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One thing that can be asked."""

    path: str
    answer: Callable[[Api, Asked], Document]
    sends: type[Document]
    says: str
    parameters: tuple[Parameter, ...] = ()
    method: str = "GET"
    costly: bool = False
    """Whether the engine is asked, so that nobody may ask often."""
    shared: bool = False
    """Whether every browser asks for it, and the version of the map and the topology determine the answer."""


def checked(parameters: Iterable[Parameter], query: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a query that are known."""
    known = {each.name: each for each in parameters if each.name in query}
    for name, parameter in known.items():
        parameter.check(query[name])
    return {name: query[name] for name in known}


_TEXT = {"type": "string", "maxLength": 253}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 10**12}
TOPOLOGY = Parameter("topology", "The name of a topology; the first one where it is left out.", _TEXT)
_PAGE = (
    Parameter("offset", "How many to pass over.", {"type": "integer", "minimum": 0, "maximum": 10**9}),
    Parameter("limit", "How many to send.", {"type": "integer", "minimum": 0, "maximum": MOST_ITEMS}),
)
_NAME = Parameter("name", "Only those whose name contains this.", _TEXT)
_UNIT = "/workloads/{kind}/{namespace}/{name}"

EVENTS = (
    TOPOLOGY,
    Parameter("generation", "The generation of the map that was read.", _COUNT),
    Parameter("version", "The version that was read; what came after it is told.", _COUNT),
)
"""What the stream of changes takes; it is no document, so OpenAPI does not describe it."""

ROUTES = (
    Route(
        path="/map",
        answer=Api.map,
        sends=MapDocument,
        says="All that the map shows, large lists as columns.",
        parameters=(TOPOLOGY,),
        shared=True,
    ),
    Route(
        path="/timeline",
        answer=Api.timeline,
        sends=Timeline,
        says="What workloads took and gave back lately, oldest first.",
        parameters=(TOPOLOGY,),
        shared=True,
    ),
    Route(
        path="/topology",
        answer=Api.topology,
        sends=TopologyDocument,
        says="One topology: its levels, its domains and what is free in them.",
        parameters=(TOPOLOGY,),
    ),
    Route(
        path="/nodes",
        answer=Api.nodes,
        sends=NodeList,
        says="Nodes in the order of the topology's tree.",
        parameters=(TOPOLOGY, _NAME, *_PAGE),
    ),
    Route(
        path="/workloads",
        answer=Api.workloads,
        sends=WorkloadList,
        says="Workloads by namespace and name.",
        parameters=(
            Parameter("state", "Only those in this state.", {"type": "string", "enum": list(STATES)}),
            Parameter("queue", "Only those of this queue.", _TEXT),
            _NAME,
            *_PAGE,
        ),
    ),
    Route(
        path=_UNIT,
        answer=Api.workload,
        sends=WorkloadDocument,
        says="One workload with its groups and pods.",
    ),
    Route(
        path=f"{_UNIT}/explain",
        answer=Api.explain,
        sends=Explanation,
        says="What would become of a workload on the cluster as it is, and why.",
        costly=True,
    ),
    Route(
        path=f"{_UNIT}/outcome",
        answer=Api.outcome,
        sends=OutcomeDocument,
        says="What the scheduler has said of a workload: where it is, or why it waits and who goes for it.",
    ),
    Route(
        path="/queue",
        answer=Api.queue,
        sends=WorkloadList,
        says="What waits, in the order in which it will be tried.",
        parameters=_PAGE,
    ),
    Route(
        path="/plan",
        answer=Api.plan,
        sends=PlanDocument,
        says="What would become of manifests of any dialect if they were submitted now. Nothing is created.",
        method="POST",
        costly=True,
    ),
)
