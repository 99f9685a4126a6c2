"""PodCliques: as many pods as asked, gated until their gang releases them, replaced when templates change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis.closeknit_keys import START_IMAGE
from closeknit.apis.core_v1 import Pod
from closeknit.apis.grove_io_v1alpha1 import PodClique
from closeknit.apis.grove_keys import GATE, POD_CLIQUE, POD_TEMPLATE_HASH
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.controllers.grove import parts
from closeknit.controllers.grove.releasing import gates_of
from closeknit.controllers.grove.statuses import breached, generation_of, selector_of, status_of
from closeknit.controllers.runtime.comparing import digest, is_going
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.objects import conditions, owned
from closeknit.controllers.runtime.writes import (
    NOTHING,
    Create,
    Decision,
    Delete,
    SetStatus,
    Tell,
    Write,
)
from closeknit.dialects.core.owner_references import is_controlled_by
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.grove.instances import CliqueInstance
from closeknit.dialects.grove.names import pod_name
from closeknit.dialects.grove.owners import set_of
from closeknit.dialects.grove.to_pods import pod_template, to_pod
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.kube.start_order import STARTS_AFTER, Earlier


class _Pod(NamedTuple):
    """What is to be known of a pod."""

    key: Key
    uid: str
    own: bool
    """Whether the PodClique controls it; one that does not is in its way."""
    going: bool
    failed: bool
    gated: bool
    scheduled: bool
    ready: bool
    template: str
    """The hash of the template that it was made from."""


class _Observed(NamedTuple):
    clique: Stored[PodClique] | None
    template: Object | None
    """What its pods should be made from; None where the set does not tell."""
    pods: tuple[_Pod, ...]
    taken: tuple[str, ...] = ()
    """Names of its pods that others have."""


def observe(view: View, key: Key) -> _Observed:
    """A PodClique and its pods."""
    clique = view.get(key)
    if clique is None:
        return _Observed(None, None, ())
    pods = tuple(_read(pod, clique) for pod in parts.pods_of_clique(view, key))
    there = {pod.key.name for pod in pods}
    return _Observed(
        clique,
        view.derive(template_of, key),
        pods,
        taken=tuple(
            name
            for name in _names(clique)
            if name not in there and view.has(Key("", "Pod", key.namespace, name))
        ),
    )


def _names(clique: Stored[PodClique]) -> list[str]:
    """The names of the pods that a PodClique should have."""
    spec = clique.content.spec
    replicas = max(1 if spec.replicas is None else spec.replicas, spec.min_available or 0)
    return [pod_name(clique.name, index) for index in range(replicas)]


def template_of(view: View, key: Key) -> Object | None:
    """What the pods of a PodClique are made from; None where its set has no place for it."""
    clique: PodClique | None = view.content(key)
    place = parts.place_of(key.namespace, clique.metadata) if clique is not None else None
    if clique is None or place is None:
        return None
    instances = view.derive(parts.instances_by_name, *place)
    instance = instances.get(key.name)
    made = view.derive(parts.as_scaled, *place)
    given = clique.spec.pod_spec
    if instance is None or made is None or given is None:
        return None
    # The set may have moved on to another template, which is not this clique's turn yet.
    instance = replace(instance, clique=replace(instance.clique, pod_spec=given))
    template = _in_order(pod_template(made, instance), clique.spec.starts_after, instances, view)
    labels = {**template["metadata"]["labels"], POD_TEMPLATE_HASH: digest(given)}
    return {**template, "metadata": {**template["metadata"], "labels": labels}}


def _in_order(
    template: Object, starts_after: Sequence[str], others: Mapping[str, CliqueInstance], view: View
) -> Object:
    """The template of pods that start after those of other cliques, with what sees to it.

    All pods of a gang are scheduled together, so no gate can do it: an init container waits where the
    configuration names an image for it, and the kubelet's stand-in goes by the annotation.
    """
    if not starts_after:
        return template
    earlier = [
        Earlier(tuple(pod_name(name, index) for index in range(max(own.replicas, own.least))), own.least)
        for name in starts_after
        if name in others
        for own in (others[name].clique,)
    ]
    words = [str(each) for each in earlier]
    metadata, spec = template["metadata"], template["spec"]
    annotations = {**metadata.get("annotations", {}), STARTS_AFTER: " ".join(words)}
    image = view.derive(_start_image)
    if image:
        command = ["python", "-m", "closeknit.live.waiting", *words]
        waits = {"name": "starts-after", "image": image, "command": command}
        spec = {**spec, "initContainers": [waits, *spec.get("initContainers", ())]}
    return {**template, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def _start_image(view: View) -> str:
    configurations = view.of(OperatorConfiguration)
    found = (each.content.metadata.annotations.get(START_IMAGE, "") for each in configurations)
    return next(filter(None, found), "")


def _read(pod: Stored[Pod], clique: Stored[PodClique]) -> _Pod:
    content = pod.content
    return _Pod(
        pod.key,
        content.metadata.uid,
        own=is_controlled_by(pod, clique),
        going=bool(content.metadata.deletion_timestamp),
        failed=content.status.phase == "Failed",
        gated=bool(content.spec.scheduling_gates) and GATE in gates_of(pod),
        scheduled=bool(content.spec.node_name),
        ready=any(each.type == "Ready" and each.status == "True" for each in content.status.conditions),
        template=content.metadata.labels.get(POD_TEMPLATE_HASH, ""),
    )


def decide(observed: _Observed, now: datetime) -> Decision:
    """Make and replace pods, and tell how many there are."""
    clique = observed.clique
    if clique is None or is_going(clique):
        return NOTHING
    least = clique.content.spec.min_available or 0
    names = _names(clique)
    return Decision(
        (
            *_creations(observed, clique, names),
            *_deletions(observed, set(names), len(names)),
            *(_taken(clique, name) for name in observed.taken),
            SetStatus(clique.key, _status(observed, clique, least, now), can_wait=True),
        )
    )


def _creations(observed: _Observed, clique: Stored[PodClique], names: list[str]) -> Iterator[Write]:
    if observed.template is None:
        return
    there = {*observed.taken, *(pod.key.name for pod in observed.pods)}
    for index, name in enumerate(names):
        if name not in there:
            yield Create(owned(to_pod(observed.template, clique.name, index), clique.content))


def _taken(clique: Stored[PodClique], name: str) -> Write:
    said = f"A pod {name} that is not of this PodClique is in the way of its own. Delete or rename it."
    return Tell(clique.key, "PodNameTaken", said, warning=True, action="Create")


def _deletions(observed: _Observed, names: set[str], wanted: int) -> Iterator[Write]:
    """Pods that are too many, have failed, belong to somebody else, or are made from an earlier template.

    Of the last, those that are not ready go at once, and one that is ready while all others are.
    """
    current = _hash(observed.template)
    outdated: list[_Pod] = []
    for pod in observed.pods:
        if pod.going:
            continue
        if not pod.own or pod.key.name not in names or pod.failed:
            yield Delete(pod.key, pod.uid)
        elif current and pod.template != current:
            outdated.append(pod)
    yield from (Delete(pod.key, pod.uid) for pod in outdated if not pod.ready)
    ready = sum(pod.ready and not pod.going for pod in observed.pods)
    if ready >= wanted and outdated:
        yield Delete(outdated[0].key, outdated[0].uid)


def _status(observed: _Observed, clique: Stored[PodClique], least: int, now: datetime) -> Mapping[str, Any]:
    pods = [pod for pod in observed.pods if pod.own and not pod.going and not pod.failed]
    ready = sum(pod.ready for pod in pods)
    scheduled = sum(pod.scheduled for pod in pods)
    current = _hash(observed.template)
    told = [
        breached(clique, enough=ready >= least, ready=str(ready), least=str(least)),
        Condition(
            "PodCliqueScheduled",
            "True" if scheduled >= least else "False",
            "SufficientScheduledPods" if scheduled >= least else "InsufficientScheduledPods",
            f"{scheduled} pods have a node; at least {least} must.",
        ),
    ]
    return {
        "observedGeneration": generation_of(clique),
        "replicas": len(pods),
        "readyReplicas": ready,
        "scheduledReplicas": scheduled,
        "scheduleGatedReplicas": sum(pod.gated for pod in pods),
        "updatedReplicas": sum(pod.template == current for pod in pods),
        "currentPodTemplateHash": current or None,
        "hpaPodSelector": selector_of(set_of(clique.content.metadata), POD_CLIQUE, clique.name),
        "conditions": conditions(status_of(clique).get("conditions") or (), told, now),
    }


def _hash(template: Object | None) -> str:
    return str(template["metadata"]["labels"][POD_TEMPLATE_HASH]) if template is not None else ""


CLIQUES = Controller("grove-podclique", PodClique, observe, decide)
