"""OSMO: pools with topology keys, and workflows whose tasks ask to be near each other.

Both are files without a kind, and as such the ``spec`` of ``Pool`` and ``Workflow``. Each group of
a workflow's tasks becomes one PodGroup, whose tree is built from the tasks' requirements.
Where that PodGroup is already there it is the workload, and the workflow asks for nothing more.
"""

from __future__ import annotations

from closeknit.dialects.osmo.family import OSMO

__all__ = ["OSMO"]
