"""Workloads of a replay that are manifests: operators make pods of them, as ``closeknit up`` has it.

All operators, reviews of what is written, kubelets and the controllers of Jobs run beside the scheduler, on
the same cluster and in the same virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from random import Random
from typing import Any

import structlog

from closeknit.admission.embedded import admit
from closeknit.admission.instance import following_for
from closeknit.admission.reviewer import Reviewer
from closeknit.controllers.instance import Controllers
from closeknit.controllers.operators import managed
from closeknit.dialects import DIALECTS
from closeknit.dialects.family import Family
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.kube.clock import Clock
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, Object, Propagation
from closeknit.kube.resources import PODS
from closeknit.kube.standins import run_standins
from closeknit.live.following import Following, kinds_read
from closeknit.simulator.scenario import Manifests

_USER = "system:serviceaccount:closeknit-system:closeknit"
_DELETED = DeleteOptions(propagation=Propagation.BACKGROUND)
_GLANCE = 1.0
"""Seconds between two looks whether pods have gone."""
_Name = tuple[str, str, str]
"""Kind, namespace and name."""


def kinds_followed(families: Iterable[Family]) -> tuple[Kind, ...]:
    """What a scheduler of these families and all operators read."""
    return tuple(kinds_read((*families, *DIALECTS), (kind for each in managed() for kind in each.kinds)))


class Operated:
    """Creates what workloads are written as, and knows the pods that come of it."""

    def __init__(self, cluster: EmbeddedCluster, following: Following, *, clock: Clock, dice: Random) -> None:
        self._cluster, self._clock, self._dice = cluster, clock, dice
        own = cluster.acting_as(_USER)
        log = structlog.wrap_logger(structlog.ReturnLogger())
        self._controllers = Controllers(
            own, managed(), identity="replay", log=log, random=dice, clock=clock, following=following
        )
        self._made_for: dict[_Name, str] = {}
        """By object, the workload that it was created for."""
        self._owner: dict[_Name, _Name | None] = {}
        """By object that was made of another, that one; owners do not change."""

    async def run(self, setup: Iterable[Mapping[str, Any]], ready: asyncio.Event, clock: Clock) -> None:
        """Work until cancelled; ``ready`` is set once writes are reviewed and ``setup`` is there."""
        reviewer = Reviewer(self._cluster, operators={_USER})
        async with following_for(reviewer, self._cluster, clock, self._dice) as synced:
            await synced
            admit(self._cluster, reviewer)
            await self._load(setup)
            ready.set()
            standins = run_standins(
                self._cluster.acting_as(_USER), clock=self._clock, random=self._dice, leases=False
            )
            await asyncio.gather(self._controllers.run(), standins)

    async def submit(self, workload: str, manifests: Manifests) -> None:
        """Create the objects of a workload; raises ``InvalidError`` with all that is refused."""
        for each in manifests.objects:
            self._made_for[_name(each)] = workload
        await self._load(manifests.objects)

    async def _load(self, objects: Iterable[Mapping[str, Any]]) -> None:
        if refused := await load(self._cluster, objects):
            raise InvalidError(refused)

    async def pods_of(self, workload: str, *, going: bool = False) -> list[Key]:
        """The pods of a workload that have a node; with ``going`` also those that are being deleted."""
        found = []
        for pod in (await self._cluster.list(PODS)).items:
            metadata = pod["metadata"]
            if not pod.get("spec", {}).get("nodeName") or ("deletionTimestamp" in metadata and not going):
                continue
            if await self._workload_of(pod) == workload:
                found.append(Key("", "Pod", metadata["namespace"], metadata["name"]))
        return found

    def workload_of(self, pod: _Name) -> str | None:
        """Whose a pod is that was asked for before."""
        name: _Name | None = pod
        while name is not None and name not in self._made_for:
            name = self._owner.get(name)
        return self._made_for[name] if name is not None else None

    async def _workload_of(self, obj: Object) -> str | None:
        """Whose an object is, by way of the objects that it was made of."""
        obj = {"kind": "Pod", **obj}
        while (name := _name(obj)) not in self._made_for and name not in self._owner:
            owners = obj["metadata"].get("ownerReferences") or ()
            owner = next((each for each in owners if each.get("controller")), None)
            if owner is None:
                self._owner[name] = None
                break
            above = (owner["kind"], name[1], owner["name"])
            self._owner[name] = above
            if above in self._made_for or above in self._owner:
                break
            served = await self._cluster.resources()
            resource = next(
                one for one in served if (one.api_version, one.kind) == (owner["apiVersion"], owner["kind"])
            )
            try:
                obj = await self._cluster.get(resource, owner["name"], namespace=name[1])
            except NotFoundError:
                break
            obj = {"kind": owner["kind"], **obj}
        return self.workload_of(_name(obj))

    async def delete(self, workload: str, manifests: Manifests) -> None:
        """Delete the objects of a workload, and return when its pods are gone."""
        served = {(each.api_version, each.kind): each for each in await self._cluster.resources()}
        for each in reversed(manifests.objects):
            resource = served[each["apiVersion"], each["kind"]]
            _, namespace, name = _name(each)
            with suppress(NotFoundError):
                await self._cluster.delete(
                    resource, name, namespace=namespace if resource.namespaced else "", options=_DELETED
                )
        while await self.pods_of(workload, going=True):
            await self._clock.sleep(_GLANCE)


def _name(obj: Mapping[str, Any]) -> _Name:
    metadata = obj["metadata"]
    return str(obj["kind"]), str(metadata.get("namespace") or "default"), str(metadata["name"])
