"""A new family is one package with one ``Family`` value, and one line in the table of families.

Here is a tiny one. Nothing else knows of it: it is read, checked, compiled, compared, given a status and
translated by what all families share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis.core_v1 import Pod
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32, Wire
from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.family import Compiled, Condition, Described, Family, Rendered, Status
from closeknit.dialects.inspection import statuses_of, update_between
from closeknit.dialects.ownership import pods_of
from closeknit.dialects.reading import load, reading_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.dialects.translate.translation import translate_with
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.hub.problems import Code, OneOf, Problem
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload
from tests.kit.problems import finding, findings

UNKNOWN_LEVEL = Code("crew-unknown-level", "There is no level {level}. {remedy}")
RESIZED = Code("crew-resized", "A crew cannot change from {old} to {new} pods.")
LABEL = "crew.example.com/name"


class CrewSpec(Wire, frozen=True, kw_only=True):
    size: Int32
    together: str
    topology: str


class Crew(KubernetesObject, frozen=True, kw_only=True):
    spec: CrewSpec


def compile_crew(stored: Stored[Crew], view: View) -> Compiled:
    spec, name = stored.content.spec, f"{stored.namespace}/{stored.name}"
    topology = view.derive(topologies_of, "crew").get(spec.topology)
    labels = topology.labels if topology is not None else ()
    if spec.together not in labels:
        remedy = OneOf.among(spec.together, labels)
        wrong = UNKNOWN_LEVEL.at(("spec", "together"), level=spec.together, remedy=remedy)
        return Compiled((InvalidWorkload(stored.object, "crew", (wrong,)),), (wrong,))
    bound = tuple(pod.node for pod in pods_of(view, stored.key, "crew") if pod.holds)
    pods = PodSet("pods", spec.size, Resources({"nvidia.com/gpu": 1}), bound=bound)
    root = Group(name, (pods,), required=spec.together)
    return Compiled((PlaceableWorkload(stored.object, "crew", Request(name, root, spec.topology)),))


def owner_of(pod: Stored[Pod]) -> Key | None:
    crew = pod.content.metadata.labels.get(LABEL)
    return Key("example.com", "Crew", pod.namespace, crew) if crew else None


def update_problems(old: Stored[Crew], new: Stored[Crew], _: View) -> Iterator[Problem]:
    before, after = old.content.spec.size, new.content.spec.size
    if before != after:
        yield RESIZED.at(("spec", "size"), old=before, new=after)


def status(stored: Stored[Crew], view: View) -> Status:
    running = str(len(pods_of(view, stored.key, "crew")) == stored.content.spec.size)
    return Status((Condition("Complete", running, "Counted", "The pods were counted."),))


def render_pods(stored: Stored[Crew], _: View) -> Rendered:
    names = (f"{stored.name}-{i}" for i in range(stored.content.spec.size))
    return Rendered(tuple({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}} for name in names))


CREW = Family(
    name="crew",
    kinds=(Kind("example.com", "Crew", ("v1",), Crew, workload=True),),
    topologies=lambda _: Described(),
    compile={Crew: compile_crew},
    update={Crew: update_problems},
    status={Crew: status},
    render={"pods": {Crew: render_pods}},
    owner_of=owner_of,
)
FAMILIES = (*DIALECTS, CREW)


def crew(size: int = 2, together: str = "rack") -> str:
    spec = f"{{size: {size}, together: {together}, topology: t}}"
    return f"{{apiVersion: example.com/v1, kind: Crew, metadata: {{name: c}}, spec: {spec}}}"


TOPOLOGY = """
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: t}, spec: {levels: [{nodeLabel: rack}]}}
"""
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: r1}}, status: {allocatable: {nvidia.com/gpu: 8}}}"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: p, labels: {{{LABEL}: c}}}}
spec: {{nodeName: n1, containers: [{{name: main}}]}}
"""


def sources(*texts: str) -> list[Source]:
    return [Source("f", "\n---\n".join(texts).encode())]


def test_its_objects_are_compiled_against_the_topologies_of_other_families() -> None:
    assert Topology in {kind.shape for family in DIALECTS for kind in family.kinds}

    found = reading_of(load(FAMILIES, sources(TOPOLOGY, NODE, crew())))

    assert found.problems == ()
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    assert (workload.dialect, workload.request.root.required) == ("crew", "rack")


def test_its_problems_stand_at_their_field_in_the_file() -> None:
    found = reading_of(load(FAMILIES, sources(TOPOLOGY, crew(together="rakc"))))

    assert findings(found.problems) == [
        finding(UNKNOWN_LEVEL, "2:spec.together", level="rakc", remedy=OneOf.among("rakc", ["rack"]))
    ]


def test_its_pods_are_its_workloads() -> None:
    found = reading_of(load(FAMILIES, sources(TOPOLOGY, NODE, crew(), POD)))

    assert found.problems == ()
    assert [held.workload for held in found.cluster.holdings] == ["default/c"]
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    assert [pods.bound for pods in workload.request.root.pod_sets()] == [("n1",)]


def test_an_object_that_cannot_be_read_is_a_workload_all_the_same() -> None:
    found = reading_of(load(FAMILIES, sources(crew().replace("size: 2", "size: two"))))

    assert [(each.object.name, type(each)) for each in found.workloads] == [("c", InvalidWorkload)]


def test_it_says_what_may_not_change_and_what_its_status_is() -> None:
    changed = update_between(
        load(FAMILIES, sources(TOPOLOGY, crew())), load(FAMILIES, sources(TOPOLOGY, crew(3)))
    )
    told = statuses_of(load(FAMILIES, sources(TOPOLOGY, NODE, crew(1), POD)))

    assert findings(changed.problems) == [finding(RESIZED, "2:spec.size", old=2, new=3)]
    assert [(each.family, each.conditions[0].status) for each in told.objects] == [("crew", "True")]


def test_it_is_translated_by_its_own_rules_and_restated_in_the_words_of_others() -> None:
    own = translate_with(FAMILIES, sources(TOPOLOGY, crew()), "pods", lenient=False)
    others = translate_with(FAMILIES, sources(TOPOLOGY, crew()), "kai", lenient=False)

    def kinds(objects: tuple[dict[str, Any], ...]) -> list[str]:
        return [made["kind"] for made in objects]

    assert (own.problems, kinds(own.objects)) == ((), ["Pod", "Pod"])
    assert (others.problems, kinds(others.objects)) == ((), ["Topology", "PodGroup", "Pod", "Pod"])
