"""OSMO's files as custom resources; the group is Closeknit's own."""

from __future__ import annotations

from functools import partial

from closeknit.apis import osmo_closeknit_dev_v1alpha1 as osmo
from closeknit.dialects.definitions.definition import AGE, Column, Definition, Limits
from closeknit.dialects.definitions.pods import NODE_LABEL_KEY, NOT_NEGATIVE, keyed

_GROUP = "osmo.closeknit.dev"
_LIMITS: Limits = {
    osmo.PoolFile: {"topology_keys": keyed("key")},
    osmo.TopologyKey: {"key": {"minLength": 1}, "label": NODE_LABEL_KEY},
    # OSMO has units of its own, such as GiB.
    osmo.ResourceSpec: {
        "gpu": NOT_NEGATIVE,
        "memory": {"pattern": None},
        "storage": {"pattern": None},
    },
    osmo.TopologyRequirement: {
        "requirementType": {"enum": ["required", "preferred"]},
    },
    osmo.TaskGroupSpec: {"tasks": keyed("name")},
}

_definition = partial(Definition, _GROUP, limits=_LIMITS)

DEFINITIONS = (
    _definition(
        osmo.Pool,
        namespaced=False,
        columns=(Column("Backend", ".spec.backend"), Column("Keys", ".spec.topology_keys[*].key"), AGE),
    ),
    _definition(
        osmo.Backend,
        namespaced=False,
        columns=(Column("Scheduler", ".spec.scheduler_settings.scheduler_type"), AGE),
    ),
    _definition(
        osmo.Workflow,
        short_names=("wf",),
        columns=(Column("Pool", ".spec.workflow.pool"), Column("Phase", ".status.phase"), AGE),
    ),
)
