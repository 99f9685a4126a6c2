"""What is reviewed, by family: kinds, and the fields in which they ask for a topology.

An object that asks for a topology is refused where nobody can review it; any other is let through. Both
the API server, by expressions in CEL, and the embedded cluster tell the two apart by this one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

from closeknit.apis import kai_keys, kueue_keys


class _Members:
    """The step from a list to its items, or from a mapping to its values."""

    def __repr__(self) -> str:
        return "EACH"


EACH: Final = _Members()
Step: TypeAlias = "str | frozenset[str] | _Members"
"""A field; some of the keys of a mapping, any of which will do; or all members of a list or mapping."""
Steps: TypeAlias = tuple[Step, ...]

_KUEUE_KEYS: Final = frozenset({*kueue_keys.KEP_ANNOTATIONS, *kueue_keys.POD_SET_ANNOTATIONS})
_KAI_KEYS: Final = frozenset(
    {
        kai_keys.TOPOLOGY,
        kai_keys.REQUIRED,
        kai_keys.PREFERRED,
        kai_keys.SEGMENT_REQUIRED,
        kai_keys.SEGMENT_PREFERRED,
    }
)
_META: Final = ("metadata", "annotations")
_TEMPLATE: Final = ("spec", "template", *_META)
_REPLICATED: Final[Steps] = ("spec", "replicatedJobs", EACH, "template")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A kind that a family reviews."""

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    asks: tuple[Steps, ...] = ()
    """Fields that ask for a topology. The empty path is there in every object."""
    label: str = ""
    """The label of those that concern the family without asking for a topology; empty for all."""
    only_asking: bool = False
    """Whether those that ask for nothing are none of the family's business."""
    protected: bool = False
    """Whether an operator may have made it, and nobody else may touch it then, deletion included."""
    defaulted: bool = False
    """Whether defaults are written into new ones."""

    def asks_for_topology(self, obj: Mapping[str, Any]) -> bool:
        """Whether it must not be let through without a review."""
        return any(_reaches(obj, steps) for steps in self.asks)

    def concerns(self, obj: Mapping[str, Any]) -> bool:
        """Whether the family has anything to say about it."""
        if self.asks_for_topology(obj):
            return True
        labels = (obj.get("metadata") or {}).get("labels") or {}
        return not self.only_asking and (not self.label or self.label in labels)

    def asks_in_cel(self) -> str:
        """The same as ``asks_for_topology``, for an API server."""
        return _any(_in_cel("object", steps, count()) for steps in self.asks)

    def concerns_in_cel(self) -> str:
        """The same as ``concerns`` of an object that asks for nothing."""
        if self.only_asking:
            return "false"
        labels = "object.metadata.labels"
        return f"has({labels}) && {_quoted(self.label)} in {labels}" if self.label else "true"


_ALWAYS: Final[tuple[Steps, ...]] = ((),)


def _owner(
    group: str, version: str, kind: str, plural: str, keys: frozenset[str], *places: Steps, label: str = ""
) -> Reviewed:
    """A controller of pods that asks by annotations, its own or those of its templates."""
    return Reviewed(
        group,
        (version,),
        kind,
        plural,
        tuple((*place, keys) for place in places),
        label=label,
        only_asking=not label,
        defaulted=bool(label),
    )


_JOBS: Final = ("batch", "v1", "Job", "jobs")
_JOB_SETS: Final = ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
_JOB_PLACES: Final[tuple[Steps, ...]] = (_META, _TEMPLATE)
_JOB_SET_PLACES: Final[tuple[Steps, ...]] = (_META, (*_REPLICATED, *_META), (*_REPLICATED, *_TEMPLATE))
_KUEUE: Final = "kueue.x-k8s.io"
_KUEUE_VERSIONS: Final = ("v1beta2", "v1beta1")

REVIEWED: Final[Mapping[str, tuple[Reviewed, ...]]] = {
    "kai": (
        Reviewed(
            "scheduling.run.ai",
            ("v2alpha2",),
            "PodGroup",
            "podgroups",
            (("spec", "topologyConstraint"), ("spec", "subGroups", EACH, "topologyConstraint")),
        ),
        Reviewed("scheduling.run.ai", ("v2",), "Queue", "queues"),
        Reviewed("kai.scheduler", ("v1alpha1", "v1"), "Topology", "topologies", _ALWAYS, protected=True),
        _owner(*_JOBS, _KAI_KEYS, *_JOB_PLACES),
        _owner(*_JOB_SETS, _KAI_KEYS, *_JOB_SET_PLACES),
        _owner(
            "leaderworkerset.x-k8s.io",
            "v1",
            "LeaderWorkerSet",
            "leaderworkersets",
            _KAI_KEYS,
            _META,
            ("spec", "leaderWorkerTemplate", "leaderTemplate", *_META),
            ("spec", "leaderWorkerTemplate", "workerTemplate", *_META),
        ),
        _owner(
            "kubeflow.org",
            "v1",
            "PyTorchJob",
            "pytorchjobs",
            _KAI_KEYS,
            _META,
            ("spec", "pytorchReplicaSpecs", EACH, "template", *_META),
        ),
    ),
    "grove": (
        Reviewed(
            "grove.io",
            ("v1alpha1",),
            "PodCliqueSet",
            "podcliquesets",
            tuple(
                ("spec", "template", *place, "topologyConstraint")
                for place in ((), ("cliques", EACH), ("podCliqueScalingGroups", EACH))
            ),
            defaulted=True,
        ),
        Reviewed("grove.io", ("v1alpha1",), "ClusterTopology", "clustertopologies", _ALWAYS, protected=True),
        Reviewed(
            "grove.io",
            ("v1alpha1",),
            "ClusterTopologyBinding",
            "clustertopologybindings",
            _ALWAYS,
            protected=True,
        ),
        Reviewed(
            "scheduler.grove.io",
            ("v1alpha1",),
            "PodGang",
            "podgangs",
            tuple(
                ("spec", *place, "topologyConstraint")
                for place in ((), ("podgroups", EACH), ("topologyConstraintGroupConfigs", EACH))
            ),
        ),
    ),
    "dynamo": (
        Reviewed(
            "nvidia.com",
            ("v1beta1", "v1alpha1"),
            "DynamoGraphDeployment",
            "dynamographdeployments",
            tuple(
                ("spec", *place, name)
                for place in ((), ("components", EACH), ("services", EACH))
                for name in ("topologyConstraint", "providerOverride")
            ),
        ),
    ),
    "osmo": (
        Reviewed(
            "osmo.closeknit.dev",
            ("v1alpha1",),
            "Workflow",
            "workflows",
            (
                ("spec", "workflow", "resources", EACH, "topology"),
                ("spec", "resources", EACH, "topology"),
            ),
        ),
        Reviewed("osmo.closeknit.dev", ("v1alpha1",), "Pool", "pools", (("spec", "topology_keys"),)),
        Reviewed("osmo.closeknit.dev", ("v1alpha1",), "Backend", "backends"),
    ),
    "kueue": (
        Reviewed(_KUEUE, _KUEUE_VERSIONS, "Topology", "topologies", _ALWAYS),
        Reviewed(_KUEUE, _KUEUE_VERSIONS, "ResourceFlavor", "resourceflavors", (("spec", "topologyName"),)),
        Reviewed(_KUEUE, _KUEUE_VERSIONS, "ClusterQueue", "clusterqueues"),
        Reviewed(_KUEUE, _KUEUE_VERSIONS, "Cohort", "cohorts"),
        Reviewed(_KUEUE, _KUEUE_VERSIONS, "LocalQueue", "localqueues"),
        Reviewed(_KUEUE, _KUEUE_VERSIONS, "AdmissionCheck", "admissionchecks"),
        Reviewed(
            _KUEUE,
            _KUEUE_VERSIONS,
            "Workload",
            "workloads",
            (("spec", "podSets", EACH, "topologyRequest"),),
        ),
        _owner(*_JOBS, _KUEUE_KEYS, *_JOB_PLACES, label=kueue_keys.QUEUE),
        _owner(*_JOB_SETS, _KUEUE_KEYS, *_JOB_SET_PLACES, label=kueue_keys.QUEUE),
        _owner("", "v1", "Pod", "pods", _KUEUE_KEYS, _META, label=kueue_keys.QUEUE),
    ),
}
"""In the order of the families; within one, the order of its kinds."""


def reviewed_by(family: str, group: str, kind: str) -> Reviewed | None:
    """What a family reviews of a kind."""
    return next((each for each in REVIEWED[family] if (each.group, each.kind) == (group, kind)), None)


def _reaches(value: Any, steps: Steps) -> bool:
    if not steps:
        return True
    step, rest = steps[0], steps[1:]
    if isinstance(step, _Members):
        members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        return any(_reaches(each, rest) for each in members)
    if not isinstance(value, Mapping):
        return False
    if isinstance(step, frozenset):
        return not step.isdisjoint(value)
    return value.get(step) is not None and _reaches(value[step], rest)


def _in_cel(value: str, steps: Steps, names: Iterator[int]) -> str:
    if not steps:
        return "true"
    step, rest = steps[0], steps[1:]
    if isinstance(step, frozenset):
        return f"{value}.exists(key, key in [{', '.join(map(_quoted, sorted(step)))}])"
    if isinstance(step, _Members):
        # An item of a list comes as itself, a value of a mapping by its key.
        name = f"each{next(names)}"
        item, at_key = (_in_cel(each, rest, names) for each in (name, f"{value}[{name}]"))
        return f"{value}.exists({name}, type({name}) == string ? {at_key} : {item})"
    inner = f"{value}.{step}"
    further = _in_cel(inner, rest, names)
    return f"has({inner})" if further == "true" else f"has({inner}) && {further}"


def _any(parts: Iterator[str]) -> str:
    return " || ".join(f"({part})" for part in parts) or "false"


def _quoted(text: str) -> str:
    return f"'{text}'"
