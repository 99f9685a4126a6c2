"""DynamoGraphDeployments as workloads, by way of the PodCliqueSet that is made of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.batch_v1 import Job
from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kueue_keys import QUEUE
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.priority import created
from closeknit.dialects.dynamo.deployments import Deployment, read_alpha, read_beta
from closeknit.dialects.dynamo.mapping import mapped
from closeknit.dialects.dynamo.overrides import without_wrong_ones
from closeknit.dialects.dynamo.rules import rules
from closeknit.dialects.dynamo.sets import set_name, to_pod_clique_set
from closeknit.dialects.dynamo.telling import told
from closeknit.dialects.family import Surroundings
from closeknit.dialects.grove.blueprint import Blueprint, blueprint
from closeknit.dialects.grove.drift import what_is_lost
from closeknit.dialects.grove.members import DEPLOYMENT, lone_gangs, pods_by_set, set_of
from closeknit.dialects.grove.requests import to_request
from closeknit.dialects.grove.topologies import MANAGED, Known, known
from closeknit.dialects.grove.workloads import pod_problems, priority_of
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.workload import Workload

DIALECT = "dynamo"


@dataclass(frozen=True, slots=True)
class Read:
    """A deployment and what became of it; what has problems has no blueprint."""

    manifest: Stored[Any]
    deployment: Deployment
    made: dict[str, Any] | None
    blueprint: Blueprint | None
    problems: tuple[Problem, ...]


def topologies_for(manifests: View) -> Known:
    """Grove's topologies, and the one that a mapping describes."""
    groves = known(manifests)
    mapping = mapped(manifests)
    if mapping is None:
        return groves
    return replace(groves, topologies={**groves.topologies, mapping.name: mapping})


def read_all(manifests: View, *, lenient: bool) -> Iterator[Read]:
    """Every deployment of both versions, in the order of the documents of each."""
    topologies = topologies_for(manifests)
    mapping = mapped(manifests)
    fallback = mapping.name if mapping is not None and MANAGED not in topologies.topologies else MANAGED
    for old in manifests.of(alpha.DynamoGraphDeployment):
        found: list[Problem] = []
        deployment = read_alpha(old.content, found, lenient=lenient)
        yield _read(old, deployment, found, topologies, fallback, lenient=lenient)
    for new in manifests.of(beta.DynamoGraphDeployment):
        yield _read(new, read_beta(new.content), [], topologies, fallback, lenient=lenient)


def read_workloads(manifests: View, surroundings: Surroundings) -> Iterator[Workload | Reported]:
    """The workload of every deployment of which nothing is made yet, after its problems.

    Otherwise what was made of it is the workload, and asks for the same pods.
    """
    queued = _queued(manifests)
    made_already = {(one.namespace, one.name) for one in manifests.keys(PodCliqueSet)}
    made_already.update((one.namespace, set_of(one.content.metadata)) for one in lone_gangs(manifests))
    by_set = pods_by_set(surroundings.pods)
    topologies = topologies_for(manifests)
    for one in read_all(manifests, lenient=surroundings.lenient):
        manifest = one.manifest
        pods = by_set.get(workload_name(manifest.namespace, set_name(one.deployment)), ())
        own = list(one.problems)
        priority = 0
        if one.blueprint is not None:
            unknown: list[Problem] = []
            priority = priority_of(one.blueprint.given, surroundings, unknown)
            own.extend(as_told("spec.priorityClassName", problem.message) for problem in unknown)
        since = created(manifest, own)
        yield from (manifest.report(problem) for problem in own)
        made_of_it = (manifest.namespace, set_name(one.deployment)) in made_already
        if made_of_it or (manifest.namespace, manifest.name) in queued:
            continue
        broken = [*manifest.problems, *own, *pod_problems(pods)]
        yield Workload(
            object=manifest.object,
            dialect=DIALECT,
            request=None if broken or one.blueprint is None else to_request(one.blueprint, pods),
            problems=tuple(broken),
            priority=priority,
            created=since,
            notes=_notes(one, topologies),
        )
    for shape in (alpha.DynamoGraphDeployment, beta.DynamoGraphDeployment):
        for unreadable in manifests.unreadable(shape):
            yield Workload(
                unreadable.object, DIALECT, request=None, problems=unreadable.problems, maker=unreadable.key
            )


def _queued(manifests: View) -> set[tuple[str, str]]:
    """Namespace and name of the deployments that were made Jobs and JobSets of, which queue by themselves."""
    batches: list[Stored[Job | JobSet]] = [*manifests.of(Job), *manifests.of(JobSet)]
    labelled = ((one.namespace, one.content.metadata.labels) for one in batches)
    return {
        (namespace, labels[DEPLOYMENT])
        for namespace, labels in labelled
        if DEPLOYMENT in labels and QUEUE in labels
    }


def _notes(one: Read, topologies: Known) -> tuple[Problem, ...]:
    if one.blueprint is None:
        return ()
    return tuple(told(what_is_lost(one.blueprint.given, topologies), one.deployment))


def _read(
    manifest: Stored[Any],
    deployment: Deployment,
    found: list[Problem],
    topologies: Known,
    fallback: str,
    *,
    lenient: bool,
) -> Read:
    if not deployment.components and not found:
        found = [
            as_told(f"spec.{deployment.listed}", "There is nothing to deploy here. Describe at least one.")
        ]
    found = [*found, *rules(deployment, lenient=lenient)]
    drafted, topology = _draft(deployment, topologies, fallback, lenient=lenient)
    if not drafted.components:
        return Read(manifest, deployment, None, None, tuple(found))
    made = to_pod_clique_set(drafted, manifest.namespace, topology)
    decoded = msgspec.convert(made, PodCliqueSet)
    # A deployment that stands in a cluster already has a set that does; what its topology lost is left out.
    given = msgspec.structs.replace(
        decoded, metadata=msgspec.structs.replace(decoded.metadata, uid=deployment.metadata.uid)
    )
    drawn, problems = blueprint(given, manifest.namespace, topologies, lenient=lenient)
    said = {problem.where for problem in found}
    # What is wrong in itself is wrong for Grove as well, and told once.
    found.extend(problem for problem in told(problems, drafted) if problem.where not in said)
    if found:
        return Read(manifest, deployment, None, None, tuple(found))
    return Read(manifest, deployment, made, drawn, ())


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
