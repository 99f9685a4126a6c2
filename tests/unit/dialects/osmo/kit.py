"""Short ways to write pools and workflows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from closeknit.dialects import Source, translate

KEYS = ("zone", "spine", "rack")


def pool(name: str = "p", keys: Sequence[str] = KEYS, **fields: Any) -> str:
    """A pool whose labels are its keys behind ``t/``."""
    return json.dumps(
        {"name": name, "topology_keys": [{"key": key, "label": f"t/{key}"} for key in keys], **fields}
    )


def near(*entries: str) -> dict[str, Any]:
    """A resource from words such as ``zone=z1`` for required and ``rack~r1`` for preferred."""
    topology = []
    for entry in entries:
        strict = "=" in entry
        key, group = entry.split("=" if strict else "~")
        topology.append(
            {"key": key, "group": group, "requirementType": "required" if strict else "preferred"}
        )
    return {"gpu": 1, "topology": topology}


def workflow(
    tasks: Mapping[str, str] | Sequence[str],
    resources: Mapping[str, Any] | None = None,
    name: str = "w",
    **fields: Any,
) -> str:
    """A workflow of one group from tasks and the resource that each names."""
    named = tasks if isinstance(tasks, Mapping) else dict.fromkeys(tasks, "default")
    group = {"name": "g", "tasks": [{"name": task, "resource": resource} for task, resource in named.items()]}
    spec = {"name": name, "groups": [group], "resources": dict(resources or {}), **fields}
    return json.dumps({"workflow": spec})


def each(wishes: Mapping[str, Sequence[str]], name: str = "w") -> str:
    """A workflow in which each task has a resource of its own, of these wishes."""
    return workflow(
        {task: task for task in wishes}, {task: near(*said) for task, said in wishes.items()}, name
    )


def objects(*texts: str, to: str = "kai") -> list[dict[str, Any]]:
    """What the texts are translated to; they must be without problems."""
    made = translate([Source("f", "\n---\n".join(texts).encode())], to)
    assert [str(problem) for problem in made.problems] == []
    return list(made.objects)


def pod_group(*texts: str) -> dict[str, Any]:
    """The only PodGroup that the texts are translated to."""
    (found,) = (made for made in objects(*texts) if made["kind"] == "PodGroup")
    return found


def rows(group: Mapping[str, Any]) -> list[str]:
    """A PodGroup's tree in lines: name, count, level, parent; the whole first, as ``-``."""
    written = []
    for part in (dict(group["spec"], name="-"), *group["spec"].get("subGroups", ())):
        close = part.get("topologyConstraint", {})
        words = [
            part["name"],
            f"pods={part['minMember']}" if "minMember" in part else "",
            f"groups={part['minSubGroup']}" if "minSubGroup" in part else "",
            f"={close['requiredTopologyLevel']}" if "requiredTopologyLevel" in close else "",
            f"~{close['preferredTopologyLevel']}" if "preferredTopologyLevel" in close else "",
            f"in {part['parent']}" if "parent" in part else "",
        ]
        written.append(" ".join(word for word in words if word))
    return written


def leaves(*texts: str) -> dict[str, str]:
    """The subgroup that each task's pod is labelled with."""
    labels = [made["metadata"]["labels"] for made in objects(*texts) if made["kind"] == "Pod"]
    return {one["osmo.task_name"]: one.get("kai.scheduler/subgroup-name", "") for one in labels}
