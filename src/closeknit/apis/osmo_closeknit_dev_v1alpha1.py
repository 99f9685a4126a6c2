"""osmo.closeknit.dev/v1alpha1: objects whose spec is one of OSMO's files, word for word."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.osmo_pool import BackendFile, PoolFile
from closeknit.apis.osmo_workflow import WorkflowFile


class Pool(KubernetesObject, frozen=True, kw_only=True):
    """Nodes that workflows are sent to, and the topology keys that they may use there."""

    unused: ClassVar = frozenset({"status"})

    spec: PoolFile


class Backend(KubernetesObject, frozen=True, kw_only=True):
    """The cluster that pools run on, and its scheduler."""

    unused: ClassVar = frozenset({"status"})

    spec: BackendFile


class Workflow(KubernetesObject, frozen=True, kw_only=True):
    """Groups of tasks to run."""

    unused: ClassVar = frozenset({"status"})

    spec: WorkflowFile
