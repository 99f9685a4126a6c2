"""Outcomes of units for programs: an object of our own for each, which goes with the object of the unit.

So the scheduler may write no object of a user (docs/decisions/0032). A pod has none: its condition states the
same. An outcome is named after the resource
and the name of its unit, has it as its owner and is applied as a whole. In a namespace with the label
``closeknit.dev/outcome-annotation: enabled`` it is an annotation of the unit's object as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from closeknit.apis.closeknit_dev_v1alpha1 import GROUP, VERSION, SchedulingOutcome
from closeknit.apis.closeknit_keys import ENABLED, OUTCOME_ANNOTATION
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler.status.conditions import state_of

KIND = Kind(GROUP, SchedulingOutcome.__name__, (VERSION,), SchedulingOutcome)
_LONGEST_NAME = 253
_DIGEST = 10


class Outcomes(Protocol):
    """Where outcomes are written, and what is shown of them."""

    def resource(self) -> Resource | None:
        """The resource of outcomes; None where no server has them."""
        ...

    def shown(self, key: Key, uid: str) -> str | None:
        """The text of the outcome of an object; empty without one, None where that is not known."""
        ...

    def annotated(self, namespace: str) -> bool:
        """Whether objects of a namespace carry their outcome as an annotation."""
        ...


class NoOutcomes:
    """Nothing is written, as where the definition is not installed."""

    def resource(self) -> Resource | None:
        """None."""

    def shown(self, key: Key, uid: str) -> str | None:
        """None."""

    def annotated(self, namespace: str) -> bool:  # noqa: ARG002
        """Never."""
        return False


class FollowedOutcomes:
    """What informers know: ``mirrored`` returns an object by its key, ``resource_of`` a resource by a key."""

    def __init__(
        self,
        mirrored: Callable[[Key], Mapping[str, Any] | None],
        resource_of: Callable[[Key], Resource | None],
        labels_of: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._mirrored = mirrored
        self._resource_of = resource_of
        self._labels_of = labels_of
        self._units: dict[Key, Key] = {}
        """By the key of an outcome, the object that it is about."""

    def resource(self) -> Resource | None:
        """The resource of outcomes; None where no server has them."""
        return self._resource_of(Key(KIND.group, KIND.kind, "", ""))

    def shown(self, key: Key, uid: str) -> str | None:
        """The text of the outcome of an object; empty without one, None where that is not known."""
        resource = self._resource_of(key)
        if resource is None or self.resource() is None or not has_outcome(resource):
            return None
        outcome = Key(KIND.group, KIND.kind, key.namespace, name_of(resource, key.name))
        self._units[outcome] = key
        found = self._mirrored(outcome)
        if found is None or uid not in {
            each.get("uid") for each in found["metadata"].get("ownerReferences") or ()
        }:
            return ""
        return str((found.get("status") or {}).get("outcome", ""))

    def annotated(self, namespace: str) -> bool:
        """Whether objects of a namespace carry their outcome as an annotation."""
        return self._labels_of(namespace).get(OUTCOME_ANNOTATION) == ENABLED

    def unit_of(self, outcome: Key, *, gone: bool) -> Key | None:
        """The object that an outcome is about, if it was looked at before; forgotten with the outcome."""
        return self._units.pop(outcome, None) if gone else self._units.get(outcome)


def has_outcome(resource: Resource) -> bool:
    """Whether objects of a resource have outcomes."""
    return resource.namespaced and resource.qualified != PODS.qualified


def name_of(resource: Resource, name: str) -> str:
    """The name of the outcome of an object; distinct for objects of different kinds and names."""
    whole = f"{resource.qualified}.{name}"
    if len(whole) <= _LONGEST_NAME:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_DIGEST]
    return f"{whole[: _LONGEST_NAME - _DIGEST - 1].rstrip('-.')}-{digest}"


def outcome_object(resource: Resource, meta: ObjectMeta, text: str) -> dict[str, Any]:
    """The outcome of an object, ready to be applied."""
    owner = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": meta.name,
        "uid": meta.uid,
    }
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND.kind,
        "metadata": {
            "name": name_of(resource, meta.name),
            "namespace": meta.namespace,
            "ownerReferences": [owner],
        },
        "status": {"state": state_of(text), "outcome": text},
    }
