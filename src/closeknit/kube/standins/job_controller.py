"""Carries out what is decided about Jobs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from closeknit.kube.clock import Clock
from closeknit.kube.errors import NotFoundError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.owners import controllers_of, identity_of
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch, Object, Propagation
from closeknit.kube.resources import JOBS, PODS
from closeknit.kube.standins import job_pods
from closeknit.kube.standins import jobs as rules
from closeknit.kube.standins.reconciling import Reconciler, own_key

MANAGER: Final = "closeknit-job-controller"
_OURS: Final = "kubernetes.io/job-controller"


class JobController:
    """A stand-in for the Job controller of kube-controller-manager."""

    def __init__(
        self, api: KubernetesApi, jobs: Mirror[Object], pods: Mirror[Object], *, clock: Clock
    ) -> None:
        self._api = api
        self._jobs = jobs
        self._pods = pods
        self._clock = clock
        self._reconciler = Reconciler(self._reconcile, clock)

    async def run(self) -> None:
        """Look after Jobs until cancelled. The pods must have the index ``job``: ``job_key``."""
        await self._jobs.synced()
        await self._pods.synced()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reconciler.follow(self._jobs, own_key))
            tasks.create_task(self._reconciler.follow(self._pods, job_key))
            tasks.create_task(self._reconciler.run())

    async def _reconcile(self, key: Key) -> float | None:
        job = self._jobs.get(key.name, key.namespace)
        pods = self._pods.by("job", key)
        if job is None:
            await self._write_pods(rules.Plan(releases=[pod for pod in pods if job_pods.holds(pod)]))
            return None
        if job["spec"].get("managedBy", _OURS) != _OURS:
            return None
        own = [pod for pod in pods if identity_of(JOBS, job) in controllers_of(pod)]
        plan = rules.decide(job, own, self._clock.now())
        # Pods of an earlier Job of this name are nobody's to count.
        plan.releases += [pod for pod in pods if job_pods.holds(pod) and pod not in own]
        if plan.status is not None:
            version = {"resourceVersion": job["metadata"]["resourceVersion"]}
            old = job.get("status") or {}
            gone = {name: None for name in old if name not in plan.status}
            # What a merge would keep of the list of uids has to be named as gone.
            uncounted = {"succeeded": None, "failed": None, **plan.status["uncountedTerminatedPods"]}
            status = {**plan.status, **gone, "uncountedTerminatedPods": uncounted}
            written = await self._api.patch(
                JOBS,
                key.name,
                MergePatch({"metadata": version, "status": status}),
                namespace=key.namespace,
                subresource="status",
                field_manager=MANAGER,
            )
            await self._jobs.reached(written["metadata"]["resourceVersion"])
        await self._write_pods(plan)
        if plan.delete_job:
            options = DeleteOptions(uid=job["metadata"]["uid"], propagation=Propagation.FOREGROUND)
            with suppress(NotFoundError):
                await self._api.delete(JOBS, key.name, namespace=key.namespace, options=options)
        return plan.again

    async def _write_pods(self, plan: rules.Plan) -> None:
        for pod in plan.releases:
            meta = pod["metadata"]
            left = [one for one in meta.get("finalizers") or () if one != job_pods.FINALIZER]
            patch = MergePatch(
                {"metadata": {"finalizers": left or None, "resourceVersion": meta["resourceVersion"]}}
            )
            with suppress(NotFoundError):
                await self._api.patch(
                    PODS, meta["name"], patch, namespace=meta["namespace"], field_manager=MANAGER
                )
        for pod in plan.deletes:
            meta = pod["metadata"]
            with suppress(NotFoundError):
                await self._api.delete(
                    PODS, meta["name"], namespace=meta["namespace"], options=DeleteOptions(uid=meta["uid"])
                )
        last = ""
        for pod in plan.creates:
            made = await self._api.create(PODS, pod, field_manager=MANAGER)
            last = made["metadata"]["resourceVersion"]
        if last:
            # The next look must see these pods, or it would make them again.
            await self._pods.reached(last)


def job_key(pod: Object) -> list[Key]:
    """The Job that a pod belongs to."""
    meta = pod["metadata"]
    return [
        Key(meta["namespace"], owner["name"])
        for owner in meta.get("ownerReferences") or ()
        if owner.get("controller") and (owner.get("apiVersion"), owner.get("kind")) == ("batch/v1", "Job")
    ]
