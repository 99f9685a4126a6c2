"""A deployment in a cluster: what it becomes, and what it says of its constraints. Pure.

For Grove it becomes a PodCliqueSet with its constraints as they are written. No topology is read: what has
become of one is told by Grove's condition of the set, and translated. Constraints of a set cannot change;
where those of the deployment have, the set stays and the deployment says so.

For Kueue it becomes Jobs and JobSets, which cannot change either: where the deployment does, they are made
anew. The queue that they name is for an administrator to make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from closeknit.apis.batch_v1 import Job
from closeknit.apis.closeknit_keys import APPLIED
from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.controllers.runtime.comparing import digest
from closeknit.controllers.runtime.objects import children, conditions, owned
from closeknit.controllers.runtime.writes import (
    NOTHING,
    Apply,
    Create,
    Decision,
    Delete,
    SetStatus,
    Tell,
    Write,
    key_of,
)
from closeknit.dialects.core.owner_references import is_controlled_by
from closeknit.dialects.dynamo.compile import drawn_deployment
from closeknit.dialects.dynamo.deployments import Deployment, as_written, read_deployment
from closeknit.dialects.dynamo.pathways import OnGrove, Pathway, on_grove, pathway
from closeknit.dialects.dynamo.status import available, enforced, event, is_close, unavailable
from closeknit.dialects.dynamo.to_kueue import batches_of
from closeknit.dialects.dynamo.to_pod_clique_set import CONDITION, of_deployment_fields
from closeknit.dialects.dynamo.topologies import mapped
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.grove.status import reported_availability
from closeknit.dialects.grove.terms import CONDITION as GROVE_CONDITION
from closeknit.dialects.grove.updates import update_problems
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key

READY = "Ready"


class Seen(NamedTuple):
    """A deployment, what it becomes, what there is of that, and how that is doing."""

    stored: Stored[Any]
    applied: tuple[Object, ...]
    """Objects that follow the deployment."""
    created: tuple[Object, ...]
    """Objects that are made anew where they are to be others."""
    there: tuple[Stored[Any], ...]
    """All objects that are its own, of whatever pathway."""
    enforced: Condition | None
    wrong: tuple[str, ...]
    """Why it becomes nothing, or not what it says now."""
    reason: str = ""
    """In a word."""


def observe(view: View, key: Key) -> Seen | None:
    """A deployment and all that it depends on; None where it is gone, going or unreadable."""
    stored = view.get(key)
    if stored is None or stored.content.metadata.deletion_timestamp:
        return None
    given = read_deployment(as_written(stored), [], lenient=True)
    there = tuple(each for shape in (PodCliqueSet, Job, JobSet) for each in children(view, shape, stored))
    on = _for_grove if pathway(view, given) is Pathway.GROVE else _for_kueue
    return on(view, stored, given, there)


def _for_grove(view: View, stored: Stored[Any], given: Deployment, there: tuple[Stored[Any], ...]) -> Seen:
    made = on_grove(stored)
    if made.made is None:
        return Seen(stored, (), (), there, None, tuple(map(str, made.problems)), "Invalid")
    wanted = owned(made.made, stored.content)
    found = view.get(key_of(wanted))
    if found is not None and found not in there:
        taken = f"{found.object.kind} {found.name} belongs to somebody else"
        return Seen(stored, (), (), there, _pending(given), (taken,), "NameTaken")
    reported = reported_availability(_grove_condition(found))
    condition = enforced(reported) if is_close(given) else None
    fixed = tuple(_fixed(view, found, made)) if found is not None else ()
    return Seen(stored, (wanted,), (), there, condition, fixed, "Immutable" if fixed else "")


def _fixed(view: View, found: Stored[PodCliqueSet], made: OnGrove) -> Iterator[str]:
    """The fields of the deployment that have changed, and cannot change in a set that exists."""
    wanted = replace(found, content=msgspec.convert(made.made, PodCliqueSet))
    problems = of_deployment_fields(update_problems(found, wanted, view), made.deployment)
    for where in dict.fromkeys(each.where for each in problems):
        yield f"{where} cannot change in place. Delete the DynamoGraphDeployment and create it anew"


def _grove_condition(found: Stored[Any] | None) -> Condition | None:
    status = (found.written.get("status") or {}) if found is not None else {}
    return _condition(status.get("conditions") or (), GROVE_CONDITION)


def _condition(listed: Sequence[Mapping[str, Any]], kind: str) -> Condition | None:
    for each in listed:
        if each.get("type") == kind:
            words = (str(each.get(field, "")) for field in ("status", "reason", "message"))
            return Condition(kind, *words)
    return None


def _pending(given: Deployment) -> Condition | None:
    return enforced(None) if is_close(given) else None


def _for_kueue(view: View, stored: Stored[Any], given: Deployment, there: tuple[Stored[Any], ...]) -> Seen:
    drawn = view.derive(drawn_deployment, stored.key)
    made = view.derive(batches_of, stored.key)
    if drawn.problems or made.problems:
        wrong = tuple(dict.fromkeys(map(str, (*drawn.problems, *made.problems))))
        return Seen(stored, (), (), there, _on_labels(view, given), wrong, "Invalid")
    wanted = tuple(_marked(owned(each, stored.content)) for each in made.batches)
    others = {
        found.key
        for each in wanted
        if (found := view.get(key_of(each))) is not None and not is_controlled_by(found, stored)
    }
    if others:
        taken = tuple(f"{key.kind} {key.name} belongs to somebody else" for key in sorted(others))
        return Seen(stored, (), (), there, _on_labels(view, given), taken, "NameTaken")
    return Seen(stored, (), wanted, there, _on_labels(view, given), ())


def _marked(body: Object) -> Object:
    """The object with a digest, by which one that was made of something else is known."""
    metadata = body["metadata"]
    annotations = {**metadata.get("annotations", {}), APPLIED: digest(body)}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def _on_labels(view: View, given: Deployment) -> Condition | None:
    """Whether the operator's settings have a label for every domain that the deployment names."""
    if not is_close(given):
        return None
    topology = mapped(view)
    known = {level.name for level in topology.levels} if topology is not None else set()
    named = {given.domain, *(component.domain or "" for component in given.components)} - {""}
    missing = sorted(named - known)
    return unavailable(missing) if missing else available()


def decide(seen: Seen | None, now: datetime) -> Decision:
    """What is written for a deployment. What is recorded comes first, so that each change is told once."""
    if seen is None:
        return NOTHING
    stored = seen.stored
    before: Sequence[Mapping[str, Any]] = (stored.written.get("status") or {}).get("conditions") or ()
    ready = _ready(seen)
    told = [ready, *((seen.enforced,) if seen.enforced is not None else ())]
    kept = [each for each in before if each.get("type") != CONDITION or seen.enforced is not None]
    status = {
        "conditions": conditions(kept, told, now),
        "observedGeneration": stored.written["metadata"].get("generation"),
        "state": "successful" if ready.status == "True" else "pending",
    }
    writes: list[Write] = [SetStatus(stored.key, status)]
    happened = event(_condition(before, CONDITION), seen.enforced)
    if happened is not None:
        warning = happened.type == "Warning"
        writes.append(Tell(stored.key, happened.reason, happened.message, warning=warning))
    if seen.wrong:
        writes.append(Tell(stored.key, seen.reason, "; ".join(seen.wrong), warning=True))
    return Decision((*writes, *_follow(seen)))


def _follow(seen: Seen) -> Iterator[Write]:
    """What the deployment becomes. While something is wrong, what there is stays."""
    if seen.wrong:
        return
    wanted = {key_of(each): each for each in (*seen.applied, *seen.created)}
    marks = {key_of(each): each["metadata"]["annotations"][APPLIED] for each in seen.created}
    for each in seen.there:
        mark = each.content.metadata.annotations.get(APPLIED)
        changed = each.key in marks and mark is not None and mark != marks[each.key]
        if each.key not in wanted or changed:
            yield Delete(each.key, each.content.metadata.uid)
    yield from map(Apply, seen.applied)
    yield from map(Create, seen.created)


def _ready(seen: Seen) -> Condition:
    """Whether all pods of the deployment run; topology has no say in it."""
    wanted = {key_of(each) for each in (*seen.applied, *seen.created)} or {each.key for each in seen.there}
    there = {each.key: each for each in seen.there}
    if seen.wrong and not there:
        return Condition(READY, "False", seen.reason, "; ".join(seen.wrong))
    waiting = sorted(key.name for key in wanted if key not in there or not _runs(there[key]))
    if waiting:
        message = f"Not all pods are ready of: {', '.join(waiting)}"
        return Condition(READY, "False", "some_resources_are_not_ready", message)
    return Condition(READY, "True", "all_resources_are_ready", "All pods are ready")


def _runs(made: Stored[Any]) -> bool:
    """Whether all pods of an object are ready, as its own controller says."""
    spec, status = made.written.get("spec") or {}, made.written.get("status") or {}
    if made.shape is PodCliqueSet:
        return bool(status.get("availableReplicas", 0) >= spec.get("replicas", 0))
    if made.shape is Job:
        return bool(status.get("ready", 0) >= spec.get("parallelism", 1))
    wanted = {each["name"]: each.get("replicas", 1) for each in spec.get("replicatedJobs", ())}
    ready = {each["name"]: each.get("ready", 0) for each in status.get("replicatedJobsStatus", ())}
    return all(ready.get(name, 0) >= replicas for name, replicas in wanted.items())
