"""DynamoGraphDeployments as workloads, by way of the PodCliqueSet that is made of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from closeknit.apis.batch_v1 import Job
from closeknit.apis.dynamo_keys import DEPLOYMENT, ENABLE_GROVE, KAI_QUEUE
from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kueue_keys import QUEUE
from closeknit.dialects.core.priority import created, priority_of
from closeknit.dialects.dynamo.deployments import Deployment, as_written, read_deployment
from closeknit.dialects.dynamo.pathways import Pathway, is_for_grove, pathway
from closeknit.dialects.dynamo.rules import rules, without_wrong_ones
from closeknit.dialects.dynamo.to_pod_clique_set import (
    of_deployment_fields,
    set_name,
    terms_of,
    to_pod_clique_set,
)
from closeknit.dialects.dynamo.topologies import known_to_dynamo, meant_where_none_is_named
from closeknit.dialects.family import Compiled
from closeknit.dialects.grove.blueprint import Blueprint, blueprint
from closeknit.dialects.grove.compile import with_request
from closeknit.dialects.grove.owners import deployment_key, has_gangs_on_their_own, pods_made_for, set_key
from closeknit.dialects.grove.to_pod_groups import is_for_kai, judged_queue
from closeknit.dialects.grove.topologies import Known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem, parted
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.workload import WorkloadBase

DIALECT = "dynamo"


def _queued_for(batch: Stored[Job] | Stored[JobSet]) -> Iterator[Key]:
    labels = batch.content.metadata.labels
    if DEPLOYMENT in labels and QUEUE in labels:
        yield deployment_key(batch.namespace, labels[DEPLOYMENT])


_BATCHES = "dynamo-batches"
BATCHES_BY_DEPLOYMENT = (Index(_BATCHES, Job, _queued_for), Index(_BATCHES, JobSet, _queued_for))
"""Jobs and JobSets that were made for a deployment and queue by themselves."""


@dataclass(frozen=True, slots=True)
class DrawnDeployment:
    """A deployment and what becomes of it; what has problems has no blueprint."""

    deployment: Deployment
    namespace: str
    made: dict[str, Any] | None = None
    """The PodCliqueSet, as it is written."""
    given: PodCliqueSet | None = None
    """The same as Grove sees it, with the uid of the deployment; there even where it has problems."""
    blueprint: Blueprint | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def set_key(self) -> Key:
        """The PodCliqueSet that the operator makes of it."""
        return set_key(self.namespace, set_name(self.deployment))


def drawn_deployment(view: View, key: Key) -> DrawnDeployment:
    """A deployment in the store, with what becomes of it."""
    stored = view.get(key)
    assert stored is not None
    found: list[Problem] = []
    deployment = read_deployment(as_written(stored), found, lenient=view.lenient)
    if not deployment.components and not found:
        found.append(sentences.NOTHING_TO_DEPLOY.at(("spec", deployment.listed)))
    found.extend(rules(deployment, lenient=view.lenient))
    topologies = view.derive(known_to_dynamo)
    fallback = view.derive(meant_where_none_is_named)
    draft, topology = _draft(deployment, topologies, fallback, lenient=view.lenient)
    if not draft.components:
        return DrawnDeployment(deployment, stored.namespace, problems=tuple(found))
    made = to_pod_clique_set(draft, stored.namespace, topology)
    decoded = msgspec.convert(made, PodCliqueSet)
    # A deployment that stands in a cluster already has a set that does; what its topology lost is left out.
    metadata = msgspec.structs.replace(decoded.metadata, uid=deployment.metadata.uid)
    given = msgspec.structs.replace(decoded, metadata=metadata)
    drawn = blueprint(given, stored.namespace, topologies, lenient=view.lenient, terms=terms_of(draft))
    if pathway(view, deployment) is Pathway.GROVE and is_for_kai(given, view):
        wrong = judged_queue(given, view)
        found.extend(each.moved(lambda _: ("metadata", "annotations", KAI_QUEUE)) for each in wrong)
    reported = {problem.path for problem in found}
    # What is wrong in itself is wrong for Grove as well, and reported once.
    of_set = of_deployment_fields(drawn.problems, draft)
    found.extend(problem for problem in of_set if problem.path not in reported)
    problems, notes = parted((*found, *of_deployment_fields(drawn.notes, deployment)))
    if problems:
        return DrawnDeployment(deployment, stored.namespace, given=given, problems=problems, notes=notes)
    return DrawnDeployment(deployment, stored.namespace, made, given, drawn.blueprint, notes=notes)


def _draft(given: Deployment, topologies: Known, fallback: str, *, lenient: bool) -> tuple[Deployment, str]:
    """What can be looked at by way of a set, whatever else is wrong, and the topology that it speaks of.

    A deployment that is in order stays as it is. In any other, what a set cannot be made of gives way to
    something else: names that are given twice, and overrides and numbers that make no sense. Where it
    fails to name its topology the only one that there is counts, and where there are several no
    domain can be checked.
    """
    first = {component.key: component for component in reversed(given.components)}
    components = tuple(
        replace(
            component,
            # No name holds an underscore, so that this one is nobody else's.
            name=component.name if first[component.key] is component else f"{component.key}_{i}",
            replicas=component.replicas if component.replicas >= 0 else 1,
            least=max(component.least, 1) if component.least is not None else None,
            nodes=max(component.nodes, 2) if component.nodes is not None else None,
        )
        for i, component in enumerate(given.components)
    )
    draft = without_wrong_ones(replace(given, components=components), lenient=lenient)
    if given.topology or given.may_leave_out_topology or not given.is_constrained:
        return draft, given.topology or fallback
    if len(topologies.topologies) == 1:
        return draft, next(iter(topologies.topologies))
    unbound = tuple(replace(component, domain=None) for component in draft.components)
    return replace(draft, components=unbound, domain=""), fallback


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
    notes = drawn.notes
    if not is_for_grove(drawn.deployment):
        notes = (sentences.WITHOUT_GANGS.at(("metadata", "annotations", ENABLE_GROVE)), *notes)
    across = drawn.blueprint is not None and drawn.blueprint.holds_across_gangs
    told = (sentences.ACROSS_REPLICAS.at(("spec", "topologyConstraint")),) if across else ()
    base = WorkloadBase(
        stored.object, DIALECT, priority=priority, created=since, notes=notes, if_left_out=told
    )
    pods = pods_made_for(view, drawn.set_key)
    return with_request(base, stored, own, drawn.blueprint, pods, judging=view.judging)
