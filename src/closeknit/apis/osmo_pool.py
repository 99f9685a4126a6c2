"""OSMO's configuration of a pool and of the backend it runs on; fields in OSMO's own spelling."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import Toleration
from closeknit.apis.wire import Int32, Wire, words


class TopologyKey(Wire, frozen=True, kw_only=True, rename=None):
    """A word that users know for a level, and the node label that it stands for."""

    key: str
    label: str


class Platform(Wire, frozen=True, kw_only=True, rename=None):
    """A kind of node within a pool."""

    unused: ClassVar = words("""
        allowed_mounts default_mounts default_variables description host_network_allowed
        override_pod_template parsed_pod_template parsed_pod_template_for_accounting
        parsed_resource_validations privileged_allowed resource_validations
    """)

    labels: dict[str, str] = {}
    tolerations: list[Toleration] = []


class Countable(Wire, frozen=True, kw_only=True, rename=None):
    """What a pool is sure of, what it may use at most, and its weight for the rest; -1 means no limit."""

    guarantee: Int32 = -1
    maximum: Int32 = -1
    weight: Int32 = 1


class PoolResources(Wire, frozen=True, kw_only=True, rename=None):
    """The share of the backend that a pool has."""

    gpu: Countable = Countable()


class PoolFile(Wire, frozen=True, kw_only=True, rename=None):
    """What an administrator says of a pool. Keys are listed from the coarsest to the finest."""

    unused: ClassVar = words("""
        common_group_templates common_pod_template common_resource_validations default_exec_timeout
        default_exit_actions default_queue_timeout description download_type enable_maintenance
        last_heartbeat max_exec_timeout max_queue_timeout parsed_group_templates parsed_pod_template
        parsed_pod_template_for_accounting parsed_resource_validations resource_usage status
    """)

    name: str = ""
    backend: str = ""
    topology_keys: list[TopologyKey] = []
    resources: PoolResources = PoolResources()
    default_platform: str = ""
    platforms: dict[str, Platform] = {}
    common_default_variables: dict[str, object] = {}


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
