"""Which outcome the map shows of a workload: that of its own object, or else of its annotation."""

from __future__ import annotations

import json
from typing import Any

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.dialects.kai import KAI
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.scheduler.status.outcomes import KIND
from closeknit.server.announced import Announced

(POD_GROUP,) = (kind for kind in KAI.kinds if kind.kind == "PodGroup")
UNIT = Key(POD_GROUP.group, "PodGroup", "default", "g")
OUTCOME_KEY = Key(KIND.group, KIND.kind, "default", "podgroups.scheduling.run.ai.g")


class Deaf:
    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:  # noqa: ARG002
        assert kind is not KIND, "a state knows nothing of outcomes"


def announced() -> Announced:
    made = Announced(Deaf())
    annotations = {OUTCOME: json.dumps({"status": "placed"})}
    made.heard(POD_GROUP, "scheduling.run.ai/v2alpha2", UNIT, {"metadata": {"annotations": annotations}})
    return made


def own(status: str) -> dict[str, Any]:
    owner = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "name": "g", "uid": "u"}
    return {"metadata": {"ownerReferences": [owner]}, "status": {"outcome": json.dumps({"status": status})}}


def test_the_outcome_of_its_own_object_comes_before_the_annotation() -> None:
    made = announced()
    assert made.outcome(UNIT) == {"status": "placed"}
    made.heard(KIND, "closeknit.dev/v1alpha1", OUTCOME_KEY, own("unplaceable"))
    assert made.outcome(UNIT) == {"status": "unplaceable"}
    made.heard(KIND, "closeknit.dev/v1alpha1", OUTCOME_KEY, None)
    assert made.outcome(UNIT) == {"status": "placed"}


def test_an_outcome_of_another_namespace_is_none_of_a_workload_here() -> None:
    made = announced()
    made.heard(KIND, "closeknit.dev/v1alpha1", OUTCOME_KEY._replace(namespace="forger"), own("unplaceable"))
    assert made.outcome(UNIT) == {"status": "placed"}
