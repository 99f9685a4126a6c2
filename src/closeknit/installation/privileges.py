"""What each component may do, and nothing more: the source of all roles.

A test records what the components really ask of a cluster, and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from closeknit.admission.webhooks import NAME
from closeknit.apis.closeknit_dev_v1alpha1 import GROUP
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
    option: str = ""
    """Only where this value of the chart is on; always where empty."""
    call: str = ""
    """The call that needs it."""

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


def _of_kinds(
    kinds: Iterable[Kind], verbs: tuple[str, ...], call: str, *, family: str = "", option: str = ""
) -> Iterator[Grant]:
    """Verbs on kinds, by group; without kinds that no server serves."""
    plurals: dict[str, list[str]] = {}
    for kind in kinds:
        if (plural := _PLURALS.get((kind.group, kind.kind))) is not None:
            plurals.setdefault(kind.group, []).append(plural)
    for group, names in plurals.items():
        yield Grant(group, tuple(sorted(set(names))), verbs, family=family, option=option, call=call)


def _lease(name: str) -> tuple[Grant, ...]:
    group = "coordination.k8s.io"
    # Who creates an object has no name to be held to yet.
    return (
        Grant(group, ("leases",), ("create",), local=True, call="become the leader for the first time"),
        Grant(
            group,
            ("leases",),
            ("get", "update", "watch"),
            names=(name,),
            local=True,
            call="become, stay and stop being the leader",
        ),
    )


_EVENTS: Final = Grant("events.k8s.io", ("events",), ("create", "patch"), call="record and count events")
_WORKLOADS: Final = tuple(
    kind
    for kind in _ALL_KINDS
    if any(kind.shape in each.compile for each in DIALECTS) and (kind.group, kind.kind) != ("", "Pod")
)


def _written(family: str, group: str, names: str, *, status: bool = True) -> Iterator[Grant]:
    """What an operator makes and takes away, with its status."""
    plurals = tuple(names.split())
    yield Grant(group, plurals, _MAKE, family=family, call="make, change and delete what it renders")
    if status:
        yield Grant(
            group,
            tuple(f"{plural}/status" for plural in plurals),
            ("patch",),
            family=family,
            call="write the status of what it renders",
        )


def _owned(family: str, group: str, names: str) -> Iterator[Grant]:
    """What an operator writes the status of, and names as the owner of what it makes."""
    plurals = tuple(names.split())
    yield Grant(
        group,
        tuple(f"{plural}/status" for plural in plurals),
        ("patch",),
        family=family,
        call="write the status",
    )
    # A cluster may ask for this of those whose objects keep their owner from being deleted.
    yield Grant(
        group,
        tuple(f"{plural}/finalizers" for plural in plurals),
        ("update",),
        family=family,
        call="name it as an owner that waits for its dependents (OwnerReferencesPermissionEnforcement)",
    )


_FOLLOW: Final = "list and watch what it follows; get where an informer may be behind"
_OUTCOMES: Final = ("schedulingoutcomes",)

GRANTS: Final[Mapping[Component, tuple[Grant, ...]]] = {
    Component.SCHEDULER: (
        *_of_kinds(_ALL_KINDS, READ, _FOLLOW),
        Grant(
            "policy",
            ("poddisruptionbudgets",),
            READ,
            call="count how many pods may be evicted before the first one is",
        ),
        Grant(GROUP, _OUTCOMES, (*READ, "create", "patch"), call="apply the outcome of a unit"),
        *_of_kinds(
            _WORKLOADS,
            ("patch",),
            "annotate workloads with their outcome in namespaces that ask for it",
            option="outcomeAnnotation",
        ),
        Grant("", ("pods",), ("patch",), option="outcomeAnnotation", call="the same of single pods"),
        *(
            Grant(group, (f"{_PLURALS[group, kind]}/status",), ("patch",), call="write why a unit waits")
            for group, kind in STATUSES
        ),
        Grant("", ("pods/status",), ("patch",), call="write why a pod waits, and its nominated node"),
        Grant("", ("pods/binding",), ("create",), call="bind pods"),
        Grant("", ("pods/eviction",), ("create",), call="evict victims and gangs that lost pods"),
        # Since 1.36 this takes leave for what is written into the status, too.
        Grant(
            "resource.k8s.io",
            ("resourceclaims", "resourceclaims/binding", "resourceclaims/status"),
            ("patch",),
            call="protect claims, and give them devices before their pods are bound",
        ),
        Grant(
            "",
            ("persistentvolumeclaims", "persistentvolumes"),
            ("patch",),
            call="claim volumes, and have them made for a node",
        ),
        _EVENTS,
        *_lease("closeknit-scheduler"),
    ),
    Component.CONTROLLERS: (
        *_of_kinds(_ALL_KINDS, READ, _FOLLOW),
        Grant("", ("services",), READ, family="grove", call=_FOLLOW),
        Grant("grove.io", ("podcliques", "podcliquescalinggroups"), READ, family="grove", call=_FOLLOW),
        *_written("grove", "grove.io", "podcliques podcliquescalinggroups"),
        *_written("grove", "grove.io", "clustertopologies clustertopologybindings"),
        *_written("grove", "scheduler.grove.io", "podgangs"),
        *_written("grove", "scheduling.run.ai", "podgroups", status=False),
        *_written("grove", "kai.scheduler", "topologies", status=False),
        *_written("grove", "", "pods services", status=False),
        *_owned("grove", "grove.io", "podcliquesets podcliques podcliquescalinggroups clustertopologies"),
        *_owned("grove", "grove.io", "clustertopologybindings"),
        *_owned("grove", "scheduler.grove.io", "podgangs"),
        Grant(
            "scheduler.grove.io",
            ("podgangs/status",),
            ("patch",),
            call="write the status of PodGangs, which Grove leaves to the scheduler",
        ),
        *_written("dynamo", "grove.io", "podcliquesets", status=False),
        *_written("dynamo", "batch", "jobs", status=False),
        *_written("dynamo", "jobset.x-k8s.io", "jobsets", status=False),
        *_owned("dynamo", "nvidia.com", "dynamographdeployments"),
        *_written("osmo", "scheduling.run.ai", "podgroups queues", status=False),
        *_written("osmo", "kai.scheduler", "topologies", status=False),
        Grant(
            "scheduling.k8s.io",
            ("priorityclasses",),
            ("create",),
            family="osmo",
            call="make the class of a workflow's priority",
        ),
        *_written("osmo", "", "pods", status=False),
        *_owned("osmo", "osmo.closeknit.dev", "pools workflows"),
        Grant("apps", ("daemonsets",), READ, family="kueue", call="keep room for pods of DaemonSets"),
        *_written("kueue", "kueue.x-k8s.io", "workloads"),
        *_owned("kueue", "kueue.x-k8s.io", "clusterqueues localqueues cohorts"),
        Grant("batch", ("jobs",), ("patch",), family="kueue", call="suspend and resume Jobs"),
        Grant("jobset.x-k8s.io", ("jobsets",), ("patch",), family="kueue", call="suspend and resume JobSets"),
        *_owned("kueue", "batch", "jobs"),
        *_owned("kueue", "jobset.x-k8s.io", "jobsets"),
        Grant("", ("pods",), ("patch", "delete"), family="kueue", call="ungate pods; end groups of pods"),
        Grant("", ("pods/eviction",), ("create",), call="evict pods whose unit lost its quota"),
        _EVENTS,
        *_lease("closeknit-controllers"),
    ),
    Component.ADMISSION: (
        *_of_kinds((kind for each in DIALECTS for kind in each.describing), READ, _FOLLOW),
        *(
            Grant(
                group,
                (plural,),
                ("get",),
                family="kueue",
                call="see whether the controller that an object names queues in its place",
            )
            for group, plural in (("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"))
        ),
        Grant("", ("secrets",), ("create",), local=True, call="keep the first certificate"),
        Grant(
            "",
            ("secrets",),
            ("get", "update"),
            names=(CERTIFICATES,),
            local=True,
            call="share and renew the certificate",
        ),
        Grant(
            "admissionregistration.k8s.io",
            ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
            ("get", "patch"),
            names=(NAME,),
            call="have API servers trust a renewed certificate",
        ),
    ),
    Component.MAP: (
        *_of_kinds(_ALL_KINDS, READ, _FOLLOW),
        Grant(GROUP, _OUTCOMES, READ, call="show why a workload waits"),
    ),
}


_PAGE: Final = """# Privileges

Each component has an account of its own, and may do what this page lists and nothing more. `make deploy`
writes the page and the roles of the chart from one list; tests run every component under its role, so a verb
that is missing fails them. Rules of a family hold where the chart has it `managed`, those of an option where
the value of that name is on.

No component reads Secrets but admission its own one, none may grant or impersonate, and the scheduler writes
no object of a user ([decision 32](../decisions/0032-outcomes-are-objects-of-our-own.md)).

"""


def page() -> str:
    """Every rule with the call that needs it, as a page of the docs."""
    lines = ["| component | group | resources | verbs | call | only |", "|---|---|---|---|---|---|"]
    for component, grants in GRANTS.items():
        for grant in grants:
            limits = (
                f"`{grant.family}` is managed" if grant.family else "",
                f"`{grant.option}` is on" if grant.option else "",
                f"named {', '.join(f'`{name}`' for name in grant.names)}" if grant.names else "",
                "in the own namespace" if grant.local else "",
            )
            cells = (
                component.value,
                grant.group or "core",
                ", ".join(grant.resources),
                ", ".join(grant.verbs),
                grant.call,
                "; ".join(filter(None, limits)),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return _PAGE + "\n".join(lines) + "\n"


def allowed(component: Component, verb: str, group: str, resource: str) -> bool:
    """Whether a component may do something, all families being managed and no option being on."""
    return any(grant.allows(verb, group, resource) for grant in GRANTS[component] if not grant.option)
