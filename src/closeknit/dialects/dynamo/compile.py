"""DynamoGraphDeployments as workloads, by way of the PodCliqueSet that is made of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis.batch_v1 import Job
from closeknit.apis.dynamo_keys import DEPLOYMENT
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kueue_keys import QUEUE
from closeknit.dialects.core.priority import created, priority_of
from closeknit.dialects.dynamo.blueprint import drawn_deployment
from closeknit.dialects.family import Compiled
from closeknit.dialects.grove.compile import with_request
from closeknit.dialects.grove.owners import deployment_key, has_gangs_on_their_own, pods_made_for
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload

DIALECT = "dynamo"


def _queued_for(batch: Stored[Job] | Stored[JobSet]) -> Iterator[Key]:
    labels = batch.content.metadata.labels
    if DEPLOYMENT in labels and QUEUE in labels:
        yield deployment_key(batch.namespace, labels[DEPLOYMENT])


_BATCHES = "dynamo-batches"
BATCHES_BY_DEPLOYMENT = (Index(_BATCHES, Job, _queued_for), Index(_BATCHES, JobSet, _queued_for))
"""Jobs and JobSets that were made for a deployment and queue by themselves."""


def compile_deployment(stored: Stored[Any], view: View) -> Compiled:
    """The workload of a deployment of which nothing is made yet.

    Otherwise what was made of it is the workload, and asks for the same pods.
    """
    drawn = view.derive(drawn_deployment, stored.key)
    own = list(drawn.problems)
    priority = 0
    if drawn.blueprint is not None:
        name = drawn.blueprint.given.spec.template.priority_class_name
        priority = priority_of(view, name, ("spec", "priorityClassName"), own)
    since = created(stored, own)
    made = view.has(drawn.set_key) or has_gangs_on_their_own(view, drawn.set_key)
    if made or view.found(_BATCHES, stored.key):
        return Compiled(problems=tuple(own))
    workload = Workload(stored.object, DIALECT, None, priority=priority, created=since, notes=drawn.notes)
    return with_request(workload, stored, own, drawn.blueprint, pods_made_for(view, drawn.set_key))
