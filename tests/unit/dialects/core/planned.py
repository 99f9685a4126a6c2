"""What is made of objects that are read from a file: notes, and where pods go."""

from __future__ import annotations

import json
from typing import Any

from closeknit.dialects import Source, read
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.scheduler.planning import plan
from tests.filters.cases import Object
from tests.kit.problems import Finding, findings

TOPOLOGY = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "tree"},
    "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}
"""A topology of racks and hosts."""


def reading(*objects: Object) -> Any:
    """What is read of these objects."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return read([Source("f", text.encode())])


def notes(*objects: Object) -> list[Finding]:
    """The notes about workloads that have no problem."""
    objects_read = reading(*objects)
    assert findings(objects_read.problems) == []
    return findings(note for workload in objects_read.workloads for note in workload.notes)


def placed(*objects: Object) -> dict[str, str]:
    """By pod, its node, where everything is planned in turn."""
    found = reading(*objects)
    verdicts = plan(Engine(found.cluster), found.cluster, found.workloads)
    outcomes = [each.outcome for each in verdicts if isinstance(each.outcome, Placed)]
    return {each.pod: each.node for outcome in outcomes for each in outcome.assignments}
