"""Short ways to look at what KAI would group."""

from __future__ import annotations

from typing import Any

from closeknit.dialects import Source, translate
from closeknit.hub.request import Group, Request
from tests.unit.dialects.kai.owned import (
    SEGMENT,
    SEGMENT_REQUIRED,
)
from tests.unit.dialects.kit import TOPOLOGY

SEGMENTS_OF_TWO = {"kai.scheduler/topology": "tree", SEGMENT: "2", SEGMENT_REQUIRED: "topology/rack"}


def translated(*texts: str, to: str = "kai") -> list[dict[str, Any]]:
    sources = [Source("f", "\n---\n".join((TOPOLOGY, *texts)).encode())]
    found = translate(sources, to)
    assert [str(problem) for problem in found.problems] == []
    return [made for made in found.objects if made["kind"] != "Topology"]


def tree(asked: Request) -> dict[str, tuple[int, int, str | None]]:
    """By group, how many of how many are needed, and the required level."""
    found: dict[str, tuple[int, int, str | None]] = {}
    for member, _ in asked.root.walk():
        if isinstance(member, Group):
            pods = [one for one in member.members if not isinstance(one, Group)]
            least = sum(one.least for one in pods) if pods else member.least
            size = sum(one.count for one in pods) if pods else len(member.members)
            found[member.name] = (least, size, member.required)
    return found


def subgroups(made: dict[str, Any]) -> list[tuple[str, str, int | None, int | None, str]]:
    """Name, parent, minMember, minSubGroup and required level of each subgroup."""
    return [
        (
            each["name"],
            each.get("parent", ""),
            each.get("minMember"),
            each.get("minSubGroup"),
            each.get("topologyConstraint", {}).get("requiredTopologyLevel", ""),
        )
        for each in made["spec"].get("subGroups", [])
    ]
