"""PodCliqueSets as workloads: each with its request, or with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Surroundings
from closeknit.dialects.grove.blueprint import blueprint
from closeknit.dialects.grove.drift import what_is_lost
from closeknit.dialects.grove.requests import to_request
from closeknit.dialects.grove.topologies import Known
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.workload import Workload

DIALECT = "grove"


def read_pod_clique_set(
    manifest: Stored[wire.PodCliqueSet],
    surroundings: Surroundings,
    known: Known,
    by_set: Mapping[str, tuple[ReadPod, ...]],
) -> Iterator[Workload | Reported]:
    """The workload of a PodCliqueSet, after its problems. ``by_set`` holds the pods of all of them."""
    given = manifest.content
    pods = by_set.get(workload_name(manifest.namespace, manifest.name), ())
    made, own = blueprint(given, manifest.namespace, known, lenient=surroundings.lenient)
    priority = priority_of(given, surroundings, own)
    since = created(manifest, own)
    yield from (manifest.report(problem) for problem in own)
    broken = [*manifest.problems, *own, *pod_problems(pods)]
    yield Workload(
        object=manifest.object,
        dialect=DIALECT,
        request=None if broken or made is None else to_request(made, pods),
        problems=tuple(broken),
        priority=priority,
        created=since,
        notes=what_is_lost(given, known),
    )


def priority_of(given: wire.PodCliqueSet, surroundings: Surroundings, found: list[Problem]) -> int:
    """The priority of a PodCliqueSet; an unknown class is added to ``found`` unless all is lenient."""
    unknown: list[Problem] = []
    name, path = given.spec.template.priority_class_name, "spec.template.priorityClassName"
    priority = surroundings.priorities.named(name, path, unknown, {})
    found.extend(() if surroundings.lenient else unknown)
    return priority


def pod_problems(pods: tuple[ReadPod, ...]) -> Iterator[Problem]:
    """What is wrong with the pods that a workload has already."""
    for pod in pods:
        for problem in (*pod.manifest.problems, *pod.problems):
            yield as_told(f"Pod {pod.name}: {problem.where}", problem.message)
