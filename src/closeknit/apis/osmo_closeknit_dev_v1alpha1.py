"""osmo.closeknit.dev/v1alpha1: objects whose spec is one of OSMO's files, word for word."""

from __future__ import annotations

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.osmo_pool import BackendFile, PoolFile
from closeknit.apis.osmo_workflow import WorkflowFile


class Pool(ObjectWithStatus, frozen=True, kw_only=True):
    """Nodes that workflows are sent to, and the topology keys that they may use there."""

    spec: PoolFile


class Backend(ObjectWithStatus, frozen=True, kw_only=True):
    """The cluster that pools run on, and its scheduler."""

    spec: BackendFile


class Workflow(ObjectWithStatus, frozen=True, kw_only=True):
    """Groups of tasks to run."""

    spec: WorkflowFile
