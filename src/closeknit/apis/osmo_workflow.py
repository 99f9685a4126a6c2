"""OSMO's workflow file; fields in OSMO's own spelling."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.wire import Int32, Quantity, Wire, words


class TopologyRequirement(Wire, frozen=True, kw_only=True):
    """Tasks of one group share one domain of the level that the key names."""

    key: str
    group: str = "default"
    requirement_type: str = "required"


class ResourceSpec(Wire, frozen=True, kw_only=True):
    """What each task that names it asks for."""

    cpu: Quantity | None = None
    gpu: Int32 | None = None
    memory: Quantity | None = None
    storage: Quantity | None = None
    platform: str = ""
    nodes_excluded: list[str] = []
    topology: list[TopologyRequirement] = []


_IN_RESOURCES = (
    "What a task asks for stands in workflow.resources under a name,"
    " and the task names it in its field resource."
)


class TaskSpec(Wire, frozen=True, kw_only=True):
    """One pod's work. Numbers among strings are taken as they are written."""

    elsewhere: ClassVar = dict.fromkeys(
        ("cpu", "gpu", "memory", "platform", "resources", "storage", "topology"), _IN_RESOURCES
    )
    unused: ClassVar = words("""
        backend cacheSize checkpoint credentials downloadType exitActions files inputs kpis outputs
        volumeMounts
    """)

    name: str
    image: str = ""
    command: list[object] = []
    args: list[object] = []
    lead: bool = False
    resource: str = "default"
    environment: dict[str, object] = {}
    privileged: bool = False
    host_network: bool = False


class TaskGroupSpec(Wire, frozen=True, kw_only=True):
    """Tasks that run at the same time."""

    elsewhere: ClassVar = dict.fromkeys(("resource", "resources", "topology"), _IN_RESOURCES)
    unused: ClassVar = frozenset({"barrier", "ignoreNonleadStatus"})

    name: str
    tasks: list[TaskSpec]


class WorkflowSpec(Wire, frozen=True, kw_only=True):
    """Groups of tasks, or single tasks, and what they ask for."""

    elsewhere: ClassVar = {"topology": _IN_RESOURCES}
    unused: ClassVar = frozenset({"backend", "labels", "timeout"})

    name: str
    pool: str = ""
    groups: list[TaskGroupSpec] = []
    tasks: list[TaskSpec] = []
    resources: dict[str, ResourceSpec] = {}


class WorkflowFile(Wire, frozen=True, kw_only=True):
    """The whole file. ``resources`` stand inside ``workflow`` for OSMO, and beside it in its documents."""

    unused: ClassVar = frozenset({"default-values"})

    version: object = 2
    workflow: WorkflowSpec
    resources: dict[str, ResourceSpec] = {}
