"""osmo.closeknit.dev/v1alpha1: objects whose spec is one of OSMO's files, word for word.

Fields are in OSMO's own spelling: those of a pool and of the backend it runs on, then those of a workflow.
"""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import Toleration
from closeknit.apis.meta_v1 import KubernetesObject, ObjectWithStatus
from closeknit.apis.wire import Int32, OpenWire, Quantity, Wire, words


class TopologyKey(Wire, frozen=True, kw_only=True, rename=None):
    """A word that users know for a level, and the node label that it stands for."""

    key: str
    label: str


class Platform(Wire, frozen=True, kw_only=True, rename=None):
    """A kind of node within a pool."""

    unused: ClassVar = words("""
        default_mounts default_variables description override_pod_template parsed_pod_template
        parsed_pod_template_for_accounting parsed_resource_validations resource_validations
    """)

    labels: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    privileged_allowed: bool = False
    host_network_allowed: bool = False
    allowed_mounts: tuple[str, ...] = ()


class Countable(Wire, frozen=True, kw_only=True, rename=None):
    """What a pool is sure of, what it may use at most, and its weight for the rest; -1 means no limit."""

    guarantee: Quantity = -1
    maximum: Quantity = -1
    weight: Quantity = 1


class PoolResources(Wire, frozen=True, kw_only=True, rename=None):
    """The share of the backend that a pool has."""

    gpu: Countable = Countable()


class PoolFile(Wire, frozen=True, kw_only=True, rename=None):
    """What an administrator says of a pool. Keys are listed from the coarsest to the finest."""

    unused: ClassVar = words("""
        common_group_templates common_pod_template common_resource_validations default_exec_timeout
        default_queue_timeout description download_type enable_maintenance
        last_heartbeat max_exec_timeout max_queue_timeout parsed_group_templates parsed_pod_template
        parsed_pod_template_for_accounting parsed_resource_validations resource_usage status
    """)

    name: str = ""
    backend: str = ""
    topology_keys: tuple[TopologyKey, ...] = ()
    resources: PoolResources = PoolResources()
    default_platform: str = ""
    platforms: dict[str, Platform] = {}
    common_default_variables: dict[str, object] = {}
    default_exit_actions: dict[str, object] = {}


class SchedulerSettings(Wire, frozen=True, kw_only=True, rename=None):
    """Which scheduler a backend has."""

    unused: ClassVar = frozenset({"scheduler_timeout"})

    scheduler_type: str = "kai"
    scheduler_name: str = "kai-scheduler"


class BackendFile(Wire, frozen=True, kw_only=True, rename=None):
    """What an administrator says of the cluster that pools run on."""

    unused: ClassVar = words("""
        created_date dashboard_url description grafana_url k8s_uid last_heartbeat node_conditions online
        router_address tests version
    """)

    name: str = ""
    k8s_namespace: str = ""
    scheduler_settings: SchedulerSettings = SchedulerSettings()


class TopologyRequirement(Wire, frozen=True, kw_only=True):
    """Tasks of one group share one domain of the level that the key names."""

    key: str
    group: str = "default"
    requirement_type: str = "required"


class ResourceSpec(Wire, frozen=True, kw_only=True):
    """What each task that names it asks for."""

    cpu: Quantity | None = None
    gpu: Quantity | None = None
    memory: Quantity | None = None
    storage: Quantity | None = None
    platform: str = ""
    nodes_excluded: tuple[str, ...] = ()
    topology: tuple[TopologyRequirement, ...] = ()


_IN_RESOURCES = (
    "What a task asks for stands in workflow.resources under a name,"
    " and the task names it in its field resource."
)


class TaskInput(OpenWire, frozen=True, kw_only=True):
    """Where a task's data comes from: another task, or a place that is none of ours."""

    task: str = ""


class TaskSpec(Wire, frozen=True, kw_only=True):
    """One pod's work. Numbers among strings are taken as they are written."""

    elsewhere: ClassVar = dict.fromkeys(
        ("cpu", "gpu", "memory", "platform", "resources", "storage", "topology"), _IN_RESOURCES
    )
    unused: ClassVar = words("""
        backend cacheSize checkpoint credentials downloadType files kpis outputs
    """)

    name: str
    image: str = ""
    command: tuple[object, ...] = ()
    args: tuple[object, ...] = ()
    lead: bool = False
    resource: str = "default"
    environment: dict[str, object] = {}
    privileged: bool = False
    host_network: bool = False
    volume_mounts: tuple[str, ...] = ()
    inputs: tuple[TaskInput, ...] = ()
    exit_actions: dict[str, object] = {}


class TaskGroupSpec(Wire, frozen=True, kw_only=True):
    """Tasks that run at the same time."""

    elsewhere: ClassVar = dict.fromkeys(("resource", "resources", "topology"), _IN_RESOURCES)
    unused: ClassVar = frozenset({"barrier"})

    name: str
    tasks: tuple[TaskSpec, ...]
    ignore_nonlead_status: bool = True


class WorkflowSpec(Wire, frozen=True, kw_only=True):
    """Groups of tasks, or single tasks, and what they ask for."""

    elsewhere: ClassVar = {"topology": _IN_RESOURCES}
    unused: ClassVar = frozenset({"backend", "timeout"})

    name: str
    pool: str = ""
    labels: dict[str, str] = {}
    groups: tuple[TaskGroupSpec, ...] = ()
    tasks: tuple[TaskSpec, ...] = ()
    resources: dict[str, ResourceSpec] = {}


class WorkflowFile(Wire, frozen=True, kw_only=True):
    """The whole file. ``resources`` stand inside ``workflow`` for OSMO, and beside it in its documents."""

    unused: ClassVar = frozenset({"default-values"})

    version: object = 2
    workflow: WorkflowSpec
    resources: dict[str, ResourceSpec] = {}


class Pool(ObjectWithStatus, frozen=True, kw_only=True):
    """Nodes that workflows are sent to, and the topology keys that they may use there."""

    spec: PoolFile


class Backend(ObjectWithStatus, frozen=True, kw_only=True):
    """The cluster that pools run on, and its scheduler."""

    spec: BackendFile


class TaskStatus(OpenWire, frozen=True, kw_only=True):
    """How far a task has come, in OSMO's words."""

    name: str
    phase: str = ""
    retries: Int32 = 0
    node: str = ""
    exit_code: Int32 | None = None
    message: str = ""


class TaskGroupStatus(OpenWire, frozen=True, kw_only=True):
    """How far a group has come."""

    name: str
    phase: str = ""
    tasks: tuple[TaskStatus, ...] = ()


class WorkflowStatus(OpenWire, frozen=True, kw_only=True):
    """How far a workflow has come: what its controller has seen, also of pods that are gone."""

    phase: str = ""
    groups: tuple[TaskGroupStatus, ...] = ()


class Workflow(KubernetesObject, frozen=True, kw_only=True):
    """Groups of tasks to run."""

    spec: WorkflowFile
    status: WorkflowStatus = WorkflowStatus()
