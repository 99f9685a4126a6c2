"""KAI's kinds as custom resources."""

from __future__ import annotations

from closeknit.apis import kai_scheduler_v1alpha1 as kai
from closeknit.apis import scheduling_run_ai_v2 as queueing
from closeknit.apis import scheduling_run_ai_v2alpha2 as scheduling
from closeknit.dialects.definitions.definition import AGE, Column, Definition, Limits
from closeknit.dialects.definitions.pods import ATOMIC, LABEL, NODE_LABEL_KEY, NOT_NEGATIVE, items

_COUNTS = {"minMember": NOT_NEGATIVE, "minSubGroup": NOT_NEGATIVE}
_LIMITS: Limits = {
    kai.TopologySpec: {"levels": {**items(1, 16), **ATOMIC}},
    kai.TopologyLevel: {"nodeLabel": NODE_LABEL_KEY, "alias": NODE_LABEL_KEY},
    scheduling.PodGroupSpec: _COUNTS,
    # Published without a size.
    queueing.QueueSpec: {"priority": {"format": None}},
    scheduling.SubGroup: {
        **_COUNTS,
        "name": {"minLength": 1, "pattern": LABEL},
        "parent": {"pattern": LABEL},
    },
}

DEFINITIONS = (
    Definition(
        "kai.scheduler",
        kai.Topology,
        ("v1alpha1", "v1"),
        namespaced=False,
        columns=(Column("Levels", ".spec.levels[*].nodeLabel"), AGE),
        status=False,
        limits=_LIMITS,
    ),
    Definition(
        "scheduling.run.ai",
        scheduling.PodGroup,
        ("v2alpha2",),
        short_names=("pg",),
        columns=(Column("Queue", ".spec.queue"), Column("Min", ".spec.minMember", "integer"), AGE),
        limits=_LIMITS,
    ),
    Definition(
        "scheduling.run.ai",
        queueing.Queue,
        ("v2",),
        namespaced=False,
        columns=(
            Column("Priority", ".spec.priority", "integer"),
            Column("Parent", ".spec.parentQueue"),
            AGE,
        ),
        limits=_LIMITS,
    ),
)
