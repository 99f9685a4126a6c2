"""Kinds of Closeknit's own, which no dialect reads."""

from __future__ import annotations

from closeknit.apis.closeknit_dev_v1alpha1 import GROUP, VERSION, SchedulingOutcome
from closeknit.dialects.definitions.definition import AGE, Column, Definition

DEFINITIONS = (
    Definition(
        GROUP,
        SchedulingOutcome,
        (VERSION,),
        columns=(
            Column("Kind", ".metadata.ownerReferences[0].kind"),
            Column("Workload", ".metadata.ownerReferences[0].name"),
            Column("State", ".status.state"),
            AGE,
        ),
        # The scheduler writes the whole object at once, and nobody else any part of it.
        status=False,
    ),
)
