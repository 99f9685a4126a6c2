"""The names that Grove gives to what it makes, and the labels by which the parts find each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.core.naming import workload_name
from closeknit.hub.problems import Problem, as_told, shown

POD_CLIQUE = "grove.io/podclique"
POD_GANG = "grove.io/podgang"
BASE_POD_GANG = "grove.io/base-podgang"
REPLICA_INDEX = "grove.io/podcliqueset-replica-index"
POD_INDEX = "grove.io/podclique-pod-index"
SCALING_GROUP = "grove.io/podcliquescalinggroup"
SCALING_GROUP_REPLICA_INDEX = "grove.io/podcliquescalinggroup-replica-index"
TOPOLOGY_NAME = "grove.io/topology-name"
SCHEDULER_NAME = "grove.io/scheduler-name"
GATE = "grove.io/podgang-pending-creation"

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
OPERATOR = "grove-operator"

_USUAL = re.compile(r"[-.a-z0-9]+", re.ASCII)

LONGEST = 45
"""How long the names of a set, a scaling group and a clique may be together, so that pods can be named."""


def replica_name(pod_clique_set: str, replica: int) -> str:
    """A replica of a set; its base PodGang and its headless service have the same name."""
    return f"{pod_clique_set}-{replica}"


def scaling_group_name(pod_clique_set: str, replica: int, group: str) -> str:
    """A scaling group of one replica of a set."""
    return f"{pod_clique_set}-{replica}-{group}"


def scaled_name(scaling_group: str, replica: int) -> str:
    """One replica of a scaling group, by its index."""
    return f"{scaling_group}-{replica}"


def clique_name(within: str, clique: str) -> str:
    """A clique within a replica of a set or of a scaling group."""
    return f"{within}-{clique}"


def pod_name(clique: str, index: int) -> str:
    """A pod of a clique. Grove adds five random characters; its host name is this one, and so is ours."""
    return f"{clique}-{index}"


def workload_of(pod: Pod, namespace: str) -> str | None:
    """The PodCliqueSet that a pod was made for."""
    labels = pod.metadata.labels
    owner = labels.get(PART_OF)
    return workload_name(namespace, owner) if owner and is_managed(labels) else None


def is_managed(labels: Mapping[str, str]) -> bool:
    """Whether Grove's operator made the object with these labels."""
    return labels.get(MANAGED_BY) == OPERATOR


def own_name_problems(name: str, longest: int) -> Iterator[Problem]:
    """Why an object of this name cannot be had, because its name becomes part of others.

    Pods have it in their host names and subgroups in their own, and neither may hold a dot. What no object
    may be called is told already, whoever reads it.
    """
    usual = len(name) <= 253 and _USUAL.fullmatch(name)
    if usual and ("." in name or len(name) > longest):
        near = name.replace(".", "-")[:longest].strip("-")
        message = (
            f"{shown(name)} cannot be part of the host names of pods. Allowed are at most {longest}"
            " lower-case letters, digits and dashes, with a letter or digit at both ends,"
        )
        yield as_told("metadata.name", f"{message} such as {shown(near)}.")
