"""Resources: what kinds of objects an API serves, and under which paths."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version of its group, as an API serves it."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    """Such as ``status`` and ``scale``."""

    @property
    def api_version(self) -> str:
        """What objects of this resource say as ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The plural and its group, as error messages name a resource: ``jobs.batch``, ``pods``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of a collection (of one namespace, or of all), an object or a subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        parts = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{root}{within}/{self.plural}{parts}"


NAMESPACES = Resource(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    subresources=("finalize", "status"),
)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False, short_names=("no",), subresources=("status",))
PODS = Resource(
    "",
    "v1",
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    subresources=("binding", "eviction", "status"),
)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",))
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",))
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", short_names=("ev",))
CORE_EVENTS = Resource("", "v1", "events", "Event", short_names=("ev",))
"""The same events as :data:`EVENTS`, in their older spelling."""
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
PRIORITY_CLASSES = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, short_names=("pc",)
)
POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", subresources=("status",))
WORKLOADS = Resource("scheduling.k8s.io", "v1alpha2", "workloads", "Workload")
JOBS = Resource("batch", "v1", "jobs", "Job", categories=("all",), subresources=("status",))
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", subresources=("status",))
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
)
DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
RESOURCE_CLAIMS = Resource(
    "resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", subresources=("status",)
)
RESOURCE_CLAIM_TEMPLATES = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
RESOURCE_SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
