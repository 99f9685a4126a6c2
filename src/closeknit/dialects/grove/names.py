"""The names that Grove gives to what it makes, and whether they can be given.

Grove joins names and numbers by dashes, which names may hold as well, so two objects could get one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from closeknit.dialects.core.naming import all_match
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import grove as sentences

LONGEST = 45
"""How long the names of a set, a scaling group and a clique may be together, so that pods can be named."""

_LONGEST_LABEL = 63
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_OBJECT_NAME = re.compile(r"[-.a-z0-9]+", re.ASCII)


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


def own_name_problems(name: str, longest: int) -> Iterator[Problem]:
    """Why an object of this name cannot be had, because its name becomes part of others.

    Pods have it in their host names and subgroups in their own, and neither may hold a dot. What no object
    may be called is reported already, whoever reads it.
    """
    usual = len(name) <= 253 and _OBJECT_NAME.fullmatch(name)
    if usual and ("." in name or len(name) > longest):
        near = name.replace(".", "-")[:longest].strip("-")
        yield sentences.NAME_IN_HOST_NAMES.at(("metadata", "name"), name=name, longest=longest, near=near)


def is_dns_label(name: str) -> bool:
    """Whether a part of an object can have this name."""
    return len(name) <= _LONGEST_LABEL and _DNS_LABEL.fullmatch(name) is not None


def well_named(names: Sequence[str]) -> bool:
    """Whether parts can have all of these names, and no two have the same."""
    fit = all_match(_DNS_LABEL, names) and all(len(name) <= _LONGEST_LABEL for name in names)
    return fit and len(set(names)) == len(names)


def part_name_problems(path: Path, name: str, seen: dict[str, Path]) -> Iterator[Problem]:
    """Why the part at this path cannot have this name; ``seen`` holds those before it, and then this one."""
    if not is_dns_label(name):
        yield sentences.NOT_A_DNS_LABEL.at((*path, "name"), name=name)
    if (first := seen.setdefault(name, path)) != path:
        yield core.NAME_TAKEN.at((*path, "name"), name=name, field=Field(first))
