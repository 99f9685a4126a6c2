"""Constraints of PodCliqueSets as their authors write them."""

from __future__ import annotations

from typing import Any

from closeknit.hub.request import Group, Request
from closeknit.hub.topology import Level, Topology
from tests.unit.dialects.grove.sets import (
    LEVELS,
    translated,
)

T = "2:spec.template"
TREE = Topology("grove-topology", tuple(Level(key, domain) for domain, key in LEVELS.items()))
WITHOUT_RACK = {domain: key for domain, key in LEVELS.items() if domain != "rack"}
RUNNING: dict[str, Any] = {"metadata": {"uid": "1"}}


def packed(topology_name: str | None = "grove-topology", **pack: str) -> dict[str, Any]:
    given: dict[str, Any] = {"pack": pack}
    return {"topologyConstraint": {**given, "topologyName": topology_name} if topology_name else given}


def gangs(*texts: str) -> dict[str, dict[str, Any]]:
    return {gang["metadata"]["name"]: gang for gang in translated("podgang", *texts)}


def required(found: Request) -> dict[str, str | None]:
    return {member.name: member.required for member, _ in found.root.walk() if isinstance(member, Group)}
