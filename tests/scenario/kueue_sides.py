"""The same manifests for Kueue and for our operator: how they are submitted, and what is compared.

``kueue_cases`` holds a file a case, and what Kueue v0.19 makes of each in ``recorded.json``. Objects that all
cases share stand in ``common.yaml``; a case may replace some of them. A document ``then:`` waits, or does
something to a Workload.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch, Propagation
from closeknit.kube.resources import Resource

FOLDER = Path(__file__).with_name("kueue_cases")
RECORDED = FOLDER / "recorded.json"
_LINK = "../../tests/scenario/kueue_cases"
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", subresources=("status",))
_VERSION = "kueue.x-k8s.io/v1beta2"
_MADE = (
    ("batch/v1", "Job"),
    (_VERSION, "Workload"),
    ("v1", "Pod"),
    (_VERSION, "Workload"),
    (_VERSION, "LocalQueue"),
    (_VERSION, "ClusterQueue"),
    (_VERSION, "ResourceFlavor"),
    (_VERSION, "Topology"),
    (_VERSION, "WorkloadPriorityClass"),
    ("v1", "Node"),
)
"""What cases make, in the order in which it can be deleted."""
NOW = DeleteOptions(grace_period=0, propagation=Propagation.BACKGROUND)
_FREE = MergePatch({"metadata": {"finalizers": None}})
Json: TypeAlias = dict[str, Any]
Told: TypeAlias = dict[str, Json]
"""By the owner of each Workload, what its status says."""
Until: TypeAlias = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
"""Returns when something has become true."""


def cases() -> list[str]:
    """The names of all cases."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml") if file.stem != "common")


def title(case: str) -> str:
    """What a case is about."""
    return (FOLDER / f"{case}.yaml").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def recorded() -> dict[str, Told]:
    """By case, what Kueue was seen to say."""
    found: dict[str, Told] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def steps(case: str) -> Iterator[Json]:
    """The objects of a case in their order, those that it shares first, and what is done between."""
    own = list(yaml.safe_load_all((FOLDER / f"{case}.yaml").read_text(encoding="utf-8")))
    shared = list(yaml.safe_load_all((FOLDER / "common.yaml").read_text(encoding="utf-8")))
    waits = next((i for i, each in enumerate(own) if "then" in each), len(own))
    instead = {_name(each) for each in own[:waits]}
    yield from (each for each in shared if _name(each) not in instead)
    yield from own


def _name(obj: Json) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


async def submit(api: KubernetesApi, case: str, until: Until) -> None:
    """Do what a case says."""
    served = {(each.api_version, each.kind): each for each in await api.resources()}
    for step in steps(case):
        if "then" in step:
            owner, _, wanted = step["then"].split(" ")
            if wanted == "admitted":
                await until(partial(_is_admitted, api, owner))
            else:
                (name,) = [
                    each["metadata"]["name"] for each in await _workloads(api) if _owner(each) == owner
                ]
                await api.patch(WORKLOADS, name, MergePatch({"spec": {"active": False}}), namespace="default")
            continue
        resource = served[step["apiVersion"], step["kind"]]
        try:
            await api.create(resource, step)
        except AlreadyExistsError:
            body, where = MergePatch({"spec": step["spec"]}), step["metadata"].get("namespace", "")
            await api.patch(resource, step["metadata"]["name"], body, namespace=where)


async def told(api: KubernetesApi) -> Told:
    """What Workloads say now, without names, times and sentences."""
    return {_owner(each): _status(each) for each in await _workloads(api)}


async def _workloads(api: KubernetesApi) -> list[Json]:
    return [dict(each) for each in (await api.list(WORKLOADS)).items]


async def _is_admitted(api: KubernetesApi, owner: str) -> bool:
    conditions = (await told(api)).get(owner, {}).get("conditions", {})
    return bool(conditions.get("Admitted", "").startswith("True"))


def _owner(workload: Json) -> str:
    owners: list[Json] = workload["metadata"].get("ownerReferences") or []
    return str(owners[0]["name"] if len(owners) == 1 else workload["metadata"]["name"])


def _status(workload: Json) -> Json:
    status = dict(workload.get("status") or {})
    if "accumulatedPastExecutionTimeSeconds" in status:
        status["accumulatedPastExecutionTimeSeconds"] = "counted"
    found = {each["type"]: f"{each['status']} {each['reason']}" for each in status.pop("conditions", ())}
    return {"conditions": dict(sorted(found.items())), **{name: status[name] for name in sorted(status)}}


async def clear(api: KubernetesApi) -> None:
    """Delete all that cases make, whatever holds it; return when it has gone."""
    served = {(each.api_version, each.kind): each for each in await api.resources()}
    for version, kind in _MADE:
        resource, tries = served[version, kind], 0
        while items := (await api.list(resource)).items:
            for each in items:
                name, where = each["metadata"]["name"], each["metadata"].get("namespace", "")
                with suppress(NotFoundError):
                    await api.delete(resource, name, namespace=where, options=NOW)
                    if tries and kind in ("Pod", "Workload"):
                        # What a group of pods waits for when it goes is of no interest here.
                        await api.patch(resource, name, _FREE, namespace=where)
            tries += 1
            assert tries < 300, f"{kind} {[each['metadata']['name'] for each in items]} stays."
            await asyncio.sleep(0.2)


def differences(theirs: Told, ours: Told) -> Iterator[tuple[str, Any, Any]]:
    """The path of each field that differs, with what Kueue says there and what we say; None for nothing."""
    yield from _differences((), theirs, ours)


def _differences(path: tuple[str, ...], theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping) and "levels" not in theirs:
        for name in dict.fromkeys([*theirs, *ours]):
            yield from _differences((*path, name), theirs.get(name), ours.get(name))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from _differences((*path, str(i)), one, other)
    elif theirs != ours:
        yield ".".join(path), theirs, ours


DIFFERENT: dict[str, dict[str, str]] = {
    "group-of-pods": {
        "team-of-four.admission.podSetAssignments.0.name": (
            "Kueue calls the pod sets of a group by a digest of their pods, we call the only one `main`, and the"
            " pods carry that name as their label."
        )
    },
    "nodes-taken": {
        "second.conditions.QuotaReserved": (
            "There is quota, and no rack has room. Kueue says `WaitingForQuota`, because it would preempt; we say"
            " `TopologyPlacementFailed`."
        )
    },
    "unequal-blocks": {
        "train.admission.podSetAssignments.0.topologyAssignment": (
            "Where several domains of the level are as good, Kueue takes the first; we take one in the smaller"
            " block, so that the larger one stays whole."
        )
    },
}
"""By case and field, why we say something else than Kueue."""


def page() -> str:
    """The page of the docs that tells how our operator compares with Kueue."""
    rows = "\n".join(
        f"| [{case}]({_LINK}/{case}.yaml) | {title(case)} | {'see below' if case in DIFFERENT else 'equal'} |"
        for case in cases()
    )
    reasons = "\n".join(
        f"- **{case}**, `{field}`: {reason}"
        for case, found in DIFFERENT.items()
        for field, reason in found.items()
    )
    return f"""# Beside Kueue itself

The same manifests were given to Kueue v0.19.0 and to our operator, and the `status` of every Workload compared: `admission` with flavors, usage,
counts and topology assignments, `conditions` with their reasons, `resourceRequests`, `schedulingStats`. Messages and times are left out. {len(cases()) - len(DIFFERENT)} of {len(cases())} are equal.

What Kueue says is recorded in `tests/scenario/kueue_cases/recorded.json`: `make e2e-kueue` builds and runs Kueue with its own definitions and webhooks on a
real API server and holds it to that, `make test-slow` holds our operator to it, and `make test` this page to both. Kueue runs with the feature gate
`UnadmittedWorkloadsObservability`, with which it gives the reasons that we give; without it they are `Pending` and `Inadmissible`.

| case | what it is | Workload status |
|---|---|---|
{rows}

Differences:

{reasons}
"""
