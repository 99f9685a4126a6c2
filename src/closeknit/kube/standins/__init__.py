"""Stand-ins for what a cluster without kubelets and controllers lacks.

Each says in its module what it does and what it only pretends. They work through
the port, so they serve the embedded cluster and, the kubelet, a real API server too.
"""

from __future__ import annotations

import asyncio
from random import Random

from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.mirror import Mirror
from closeknit.kube.owners import controllers_of
from closeknit.kube.port import KubernetesApi, Object
from closeknit.kube.resources import (
    JOB_SETS,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
)
from closeknit.kube.standins.job_controller import JobController, job_key
from closeknit.kube.standins.job_set_controller import JobSetController
from closeknit.kube.standins.kubelet import Kubelet, node_of
from closeknit.kube.standins.resource_claims import ClaimController
from closeknit.kube.standins.volumes import VolumeController, claim_of


async def run_standins(
    api: KubernetesApi,
    *,
    clock: Clock = SYSTEM_CLOCK,
    random: Random | None = None,
    controllers: bool = True,
    leases: bool = True,
) -> None:
    """Run the kubelet and, unless told otherwise, the controllers of Jobs, JobSets, claims and volumes.

    Without ``leases`` those of nodes are not renewed.
    """
    dice = random or Random()  # noqa: S311 (it spreads retries, and guards nothing)
    pods: Mirror[Object] = Mirror(
        api, PODS, random=dice, clock=clock, indexes={"job": job_key, "node": node_of}
    )
    nodes: Mirror[Object] = Mirror(api, NODES, random=dice, clock=clock)
    async with asyncio.TaskGroup() as tasks:
        for mirror in (pods, nodes):
            tasks.create_task(mirror.run())
        tasks.create_task(Kubelet(api, pods, nodes, clock=clock, leases=leases).run())
        if controllers:
            jobs: Mirror[Object] = Mirror(
                api, JOBS, random=dice, clock=clock, indexes={"owner": controllers_of}
            )
            sets: Mirror[Object] = Mirror(api, JOB_SETS, random=dice, clock=clock)
            claims: Mirror[Object] = Mirror(
                api, RESOURCE_CLAIMS, random=dice, clock=clock, indexes={"owner": controllers_of}
            )
            templates: Mirror[Object] = Mirror(api, RESOURCE_CLAIM_TEMPLATES, random=dice, clock=clock)
            volumes: Mirror[Object] = Mirror(
                api, PERSISTENT_VOLUMES, random=dice, clock=clock, indexes={"claim": claim_of}
            )
            volume_claims: Mirror[Object] = Mirror(api, PERSISTENT_VOLUME_CLAIMS, random=dice, clock=clock)
            classes: Mirror[Object] = Mirror(api, STORAGE_CLASSES, random=dice, clock=clock)
            for one in (jobs, sets, claims, templates, volumes, volume_claims, classes):
                tasks.create_task(one.run())
            tasks.create_task(ClaimController(api, pods, claims, templates, clock=clock).run())
            storage = VolumeController(api, volume_claims, volumes, classes, nodes, pods=pods, clock=clock)
            tasks.create_task(storage.run())
            tasks.create_task(JobController(api, jobs, pods, clock=clock).run())
            tasks.create_task(JobSetController(api, sets, jobs, clock=clock).run())
