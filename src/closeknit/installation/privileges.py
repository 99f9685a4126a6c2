"""What each component may do, and nothing more: the source of all roles.

A test records what the components really ask of a cluster, and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from closeknit.admission.webhooks import NAME
from closeknit.dialects import DIALECTS
from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.definitions import FAMILIES as DEFINITIONS
from closeknit.dialects.wire.kinds import Kind
from closeknit.scheduler.status.conditions import STATUSES


class Component(Enum):
    """What runs as a process of its own, with an account of its own."""

    SCHEDULER = "scheduler"
    CONTROLLERS = "controllers"
    ADMISSION = "admission"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class Grant:
    """Some verbs on some resources of a group."""

    group: str
    resources: tuple[str, ...]
    """Plurals, with a subresource behind a slash."""
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Only objects of these names; all where empty."""
    local: bool = False
    """Only in the namespace of the installation."""
    family: str = ""
    """Only where this family is managed here; always where empty."""

    def rule(self) -> dict[str, Any]:
        """A rule of a Role."""
        made = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return made | ({"resourceNames": list(self.names)} if self.names else {})

    def allows(self, verb: str, group: str, resource: str) -> bool:
        """Whether it covers a request, whatever the object's name."""
        return group == self.group and resource in self.resources and verb in self.verbs


READ: Final = ("get", "list", "watch")
_MAKE: Final = ("create", "patch", "delete")
CERTIFICATES: Final = "closeknit-admission-certificates"
"""The Secret that replicas share, in an installation under the usual name."""

_PLURALS: Final[Mapping[tuple[str, str], str]] = {
    ("", "Namespace"): "namespaces",
    ("", "Node"): "nodes",
    ("", "Pod"): "pods",
    ("batch", "Job"): "jobs",
    ("kubeflow.org", "PyTorchJob"): "pytorchjobs",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkersets",
    ("", "PersistentVolume"): "persistentvolumes",
    ("", "PersistentVolumeClaim"): "persistentvolumeclaims",
    ("resource.k8s.io", "DeviceClass"): "deviceclasses",
    ("resource.k8s.io", "ResourceClaim"): "resourceclaims",
    ("resource.k8s.io", "ResourceClaimTemplate"): "resourceclaimtemplates",
    ("resource.k8s.io", "ResourceSlice"): "resourceslices",
    ("resource.nvidia.com", "ComputeDomain"): "computedomains",
    ("scheduling.k8s.io", "PodGroup"): "podgroups",
    ("scheduling.k8s.io", "PriorityClass"): "priorityclasses",
    ("scheduling.k8s.io", "Workload"): "workloads",
    ("topology.node.k8s.io", "NodeResourceTopology"): "noderesourcetopologies",
    ("storage.k8s.io", "CSINode"): "csinodes",
    ("storage.k8s.io", "StorageClass"): "storageclasses",
    **{
        (each["spec"]["group"], each["spec"]["names"]["kind"]): each["spec"]["names"]["plural"]
        for family in DEFINITIONS.values()
        for each in (one.written() for one in family)
    },
}
_ALL_KINDS: Final = tuple(dict.fromkeys([*KINDS, *(kind for each in DIALECTS for kind in each.kinds)]))


def _of_kinds(kinds: Iterable[Kind], verbs: tuple[str, ...], family: str = "") -> Iterator[Grant]:
    """Verbs on kinds, by group; without kinds that no server serves."""
    plurals: dict[str, list[str]] = {}
    for kind in kinds:
        if (plural := _PLURALS.get((kind.group, kind.kind))) is not None:
            plurals.setdefault(kind.group, []).append(plural)
    for group, names in plurals.items():
        yield Grant(group, tuple(sorted(set(names))), verbs, family=family)


def _lease(name: str) -> tuple[Grant, ...]:
    group = "coordination.k8s.io"
    # Who creates an object has no name to be held to yet.
    return (
        Grant(group, ("leases",), ("create",), local=True),
        Grant(group, ("leases",), ("get", "update", "watch"), names=(name,), local=True),
    )


_EVENTS: Final = Grant("events.k8s.io", ("events",), ("create", "patch"))
_WORKLOADS: Final = tuple(
    kind
    for kind in _ALL_KINDS
    if any(kind.shape in each.compile for each in DIALECTS) and (kind.group, kind.kind) != ("", "Pod")
)


def _written(family: str, group: str, names: str, *, status: bool = True) -> Iterator[Grant]:
    """What an operator makes and takes away, with its status."""
    plurals = tuple(names.split())
    yield Grant(group, plurals, _MAKE, family=family)
    if status:
        yield Grant(group, tuple(f"{plural}/status" for plural in plurals), ("patch",), family=family)


def _owned(family: str, group: str, names: str) -> Iterator[Grant]:
    """What an operator writes the status of, and names as the owner of what it makes."""
    plurals = tuple(names.split())
    yield Grant(group, tuple(f"{plural}/status" for plural in plurals), ("patch",), family=family)
    # A cluster may ask for this of those whose objects keep their owner from being deleted.
    yield Grant(group, tuple(f"{plural}/finalizers" for plural in plurals), ("update",), family=family)


GRANTS: Final[Mapping[Component, tuple[Grant, ...]]] = {
    Component.SCHEDULER: (
        *_of_kinds(_ALL_KINDS, READ),
        # How many pods may be evicted is counted before the first one is.
        Grant("policy", ("poddisruptionbudgets",), READ),
        # Why something waits is written on it.
        *_of_kinds(_WORKLOADS, ("patch",)),
        *(Grant(group, (f"{_PLURALS[group, kind]}/status",), ("patch",)) for group, kind in STATUSES),
        Grant("", ("pods",), ("patch",)),
        Grant("", ("pods/status",), ("patch",)),
        Grant("", ("pods/binding", "pods/eviction"), ("create",)),
        # Devices are given to claims; since 1.36 this takes leave for what is written into the status, too.
        Grant(
            "resource.k8s.io",
            ("resourceclaims", "resourceclaims/binding", "resourceclaims/status"),
            ("patch",),
        ),
        # Volumes are claimed for claims, and claims say for which node theirs is to be made.
        Grant("", ("persistentvolumeclaims", "persistentvolumes"), ("patch",)),
        _EVENTS,
        *_lease("closeknit-scheduler"),
    ),
    Component.CONTROLLERS: (
        *_of_kinds(_ALL_KINDS, READ),
        Grant("", ("services",), READ, family="grove"),
        Grant("grove.io", ("podcliques", "podcliquescalinggroups"), READ, family="grove"),
        *_written("grove", "grove.io", "podcliques podcliquescalinggroups"),
        *_written("grove", "grove.io", "clustertopologies clustertopologybindings"),
        *_written("grove", "scheduler.grove.io", "podgangs"),
        *_written("grove", "scheduling.run.ai", "podgroups", status=False),
        *_written("grove", "kai.scheduler", "topologies", status=False),
        *_written("grove", "", "pods services", status=False),
        *_owned("grove", "grove.io", "podcliquesets podcliques podcliquescalinggroups clustertopologies"),
        *_owned("grove", "grove.io", "clustertopologybindings"),
        *_owned("grove", "scheduler.grove.io", "podgangs"),
        # Grove leaves the status of its PodGangs to the scheduler.
        Grant("scheduler.grove.io", ("podgangs/status",), ("patch",)),
        *_written("dynamo", "grove.io", "podcliquesets", status=False),
        *_written("dynamo", "batch", "jobs", status=False),
        *_written("dynamo", "jobset.x-k8s.io", "jobsets", status=False),
        *_owned("dynamo", "nvidia.com", "dynamographdeployments"),
        *_written("osmo", "scheduling.run.ai", "podgroups queues", status=False),
        *_written("osmo", "kai.scheduler", "topologies", status=False),
        Grant("scheduling.k8s.io", ("priorityclasses",), ("create",), family="osmo"),
        *_written("osmo", "", "pods", status=False),
        *_owned("osmo", "osmo.closeknit.dev", "pools workflows"),
        Grant("apps", ("daemonsets",), READ, family="kueue"),
        *_written("kueue", "kueue.x-k8s.io", "workloads"),
        *_owned("kueue", "kueue.x-k8s.io", "clusterqueues localqueues cohorts"),
        Grant("batch", ("jobs",), ("patch",), family="kueue"),
        Grant("jobset.x-k8s.io", ("jobsets",), ("patch",), family="kueue"),
        *_owned("kueue", "batch", "jobs"),
        *_owned("kueue", "jobset.x-k8s.io", "jobsets"),
        Grant("", ("pods",), ("patch", "delete"), family="kueue"),
        Grant("", ("pods/eviction",), ("create",)),
        _EVENTS,
        *_lease("closeknit-controllers"),
    ),
    Component.ADMISSION: (
        *_of_kinds((kind for each in DIALECTS for kind in each.describing), READ),
        # Whether the controller that a Job or pod names queues in its place.
        Grant("batch", ("jobs",), ("get",), family="kueue"),
        Grant("jobset.x-k8s.io", ("jobsets",), ("get",), family="kueue"),
        Grant("", ("secrets",), ("create",), local=True),
        Grant("", ("secrets",), ("get", "update"), names=(CERTIFICATES,), local=True),
        Grant(
            "admissionregistration.k8s.io",
            ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
            ("get", "patch"),
            names=(NAME,),
        ),
    ),
    Component.MAP: tuple(_of_kinds(_ALL_KINDS, READ)),
}


def allowed(component: Component, verb: str, group: str, resource: str) -> bool:
    """Whether a component may do something, all families being managed."""
    return any(grant.allows(verb, group, resource) for grant in GRANTS[component])
