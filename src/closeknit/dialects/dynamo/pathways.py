"""Who runs a deployment: Grove, or Kueue where the operator's settings map domains to node labels.

A deployment may also say itself that it is not for Grove.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from closeknit.apis.dynamo_keys import ENABLE_GROVE
from closeknit.dialects.dynamo.deployments import Deployment, as_written, read_deployment
from closeknit.dialects.dynamo.rules import rules
from closeknit.dialects.dynamo.to_pod_clique_set import to_pod_clique_set
from closeknit.dialects.dynamo.topologies import mapped
from closeknit.dialects.grove.topologies import MANAGED
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import dynamo as sentences


class Pathway(Enum):
    """Who runs a deployment."""

    GROVE = "grove"
    KUEUE = "kueue"


@dataclass(frozen=True, slots=True)
class OnGrove:
    """A deployment as it is handed to Grove, whatever topologies there are."""

    deployment: Deployment
    made: dict[str, Any] | None
    """The PodCliqueSet; None where it has problems."""
    problems: tuple[Problem, ...] = ()


def is_for_grove(given: Deployment) -> bool:
    """Whether the deployment leaves it to others who runs it."""
    return given.metadata.annotations.get(ENABLE_GROVE, "").lower() != "false"


def pathway(view: View, given: Deployment) -> Pathway:
    """Who runs a deployment."""
    return Pathway.GROVE if mapped(view) is None and is_for_grove(given) else Pathway.KUEUE


def on_grove(stored: Stored[Any]) -> OnGrove:
    """What Grove gets of a deployment; whether the domains that it names exist is for Grove to say."""
    found: list[Problem] = []
    given = read_deployment(as_written(stored), found, lenient=True)
    if not given.components and not found:
        found.append(sentences.NOTHING_TO_DEPLOY.at(("spec", given.listed)))
    found.extend(rules(given, lenient=True))
    if found:
        return OnGrove(given, None, tuple(found))
    return OnGrove(given, to_pod_clique_set(given, stored.namespace, given.topology or MANAGED))
