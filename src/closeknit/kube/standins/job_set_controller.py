"""Carries out what is decided about JobSets."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from closeknit.kube.clock import Clock
from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.owners import identity_of
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch, Object, Propagation
from closeknit.kube.resources import JOB_SETS, JOBS
from closeknit.kube.standins import job_sets as rules
from closeknit.kube.standins.reconciling import Reconciler, own_key

MANAGER: Final = "closeknit-jobset-controller"
_OURS: Final = "jobset.sigs.k8s.io/jobset-controller"


class JobSetController:
    """A stand-in for the JobSet controller."""

    def __init__(
        self, api: KubernetesApi, sets: Mirror[Object], jobs: Mirror[Object], *, clock: Clock
    ) -> None:
        self._api = api
        self._sets = sets
        self._jobs = jobs
        self._clock = clock
        self._reconciler = Reconciler(self._reconcile, clock)

    async def run(self) -> None:
        """Look after JobSets until cancelled. The Jobs must have the index ``owner``: ``controllers_of``."""
        await self._sets.synced()
        await self._jobs.synced()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reconciler.follow(self._sets, own_key))
            tasks.create_task(self._reconciler.follow(self._jobs, _set_key))
            tasks.create_task(self._reconciler.run())

    async def _reconcile(self, key: Key) -> float | None:
        job_set = self._sets.get(key.name, key.namespace)
        if job_set is None or job_set["spec"].get("managedBy", _OURS) != _OURS:
            return None
        plan = rules.decide(
            job_set, self._jobs.by("owner", identity_of(JOB_SETS, job_set)), self._clock.now()
        )
        if plan.status is not None:
            patch = MergePatch(
                {
                    "metadata": {"resourceVersion": job_set["metadata"]["resourceVersion"]},
                    "status": plan.status,
                }
            )
            written = await self._api.patch(
                JOB_SETS,
                key.name,
                patch,
                namespace=key.namespace,
                subresource="status",
                field_manager=MANAGER,
            )
            await self._sets.reached(written["metadata"]["resourceVersion"])
        await self._write_jobs(plan)
        if plan.delete_set:
            options = DeleteOptions(uid=job_set["metadata"]["uid"], propagation=Propagation.FOREGROUND)
            with suppress(NotFoundError):
                await self._api.delete(JOB_SETS, key.name, namespace=key.namespace, options=options)
        return plan.again

    async def _write_jobs(self, plan: rules.Plan) -> None:
        last = ""
        for job in plan.deletes:
            meta = job["metadata"]
            options = DeleteOptions(uid=meta["uid"], propagation=Propagation.FOREGROUND)
            with suppress(NotFoundError):
                await self._api.delete(JOBS, meta["name"], namespace=meta["namespace"], options=options)
        for job, patch in plan.changes:
            meta = job["metadata"]
            version = {"metadata": {"resourceVersion": meta["resourceVersion"]}}
            written = await self._api.patch(
                JOBS,
                meta["name"],
                MergePatch({**patch, **version}),
                namespace=meta["namespace"],
                field_manager=MANAGER,
            )
            last = written["metadata"]["resourceVersion"]
        for job in plan.creates:
            # One of an earlier attempt may still be on its way out.
            with suppress(AlreadyExistsError):
                made = await self._api.create(JOBS, job, field_manager=MANAGER)
                last = made["metadata"]["resourceVersion"]
        if last:
            await self._jobs.reached(last)


def _set_key(job: Object) -> list[Key]:
    meta = job["metadata"]
    return [
        Key(meta["namespace"], owner["name"])
        for owner in meta.get("ownerReferences") or ()
        if owner.get("controller") and owner.get("kind") == "JobSet"
    ]
