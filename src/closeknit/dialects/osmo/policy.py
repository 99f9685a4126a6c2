"""What tasks may use of the hosts that they run on: nothing that their platform does not allow.

An administrator allows it on a platform of a pool: ``privileged_allowed``, ``host_network_allowed`` and
``allowed_mounts``. What is absent is not allowed. Both the admission webhook and the operator read a workflow
by way of these rules, so a workflow that was admitted before its platform changed starts no more pods either.

An allowed mount is one directory and not those below it: whoever may write into a directory of a host can put
a symbolic link there, and the kubelet resolves it on the host when the link is mounted (kubernetes/kubernetes
CVE-2021-25741 is of that kind).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Platform, TaskSpec
from closeknit.dialects.osmo.pools import ReadPool
from closeknit.dialects.osmo.resources import Resource
from closeknit.dialects.osmo.rules import GivenGroup
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.sentences import osmo as sentences


class Mount(NamedTuple):
    """A directory of the host in a container."""

    source: str
    """Its path on the host, without superfluous slashes."""
    target: str
    """Its path in the container."""


def mount_of(written: str) -> Mount | None:
    """A mount as tasks write it, ``/host`` or ``/host:/container``; None where it is neither."""
    source, separator, target = written.partition(":")
    paths = (_directory(source), _directory(target if separator else source))
    return Mount(*paths) if all(paths) and ":" not in target else None


def policy_problems(
    groups: Sequence[GivenGroup], defined: Mapping[str, Resource], pool: ReadPool | None
) -> Iterator[Problem]:
    """Everything that tasks want of their hosts and their platforms do not allow."""
    for group in groups:
        for i, task in enumerate(group.tasks):
            if task.privileged or task.host_network or task.volume_mounts:
                yield from _task_problems(task, group.path_of(i), defined.get(task.resource), pool)


def _task_problems(
    task: TaskSpec, path: Path, resource: Resource | None, pool: ReadPool | None
) -> Iterator[Problem]:
    named = resource.given.platform if resource is not None else ""
    name = named or (pool.file.default_platform if pool is not None else "")
    platform = pool.file.platforms.get(name) if pool is not None else None
    facts = {"platform": name, "pool": pool.name if pool is not None else ""}
    for field, wanted in (
        ("privileged", task.privileged),
        ("hostNetwork", task.host_network),
        ("volumeMounts", bool(task.volume_mounts)),
    ):
        if wanted and platform is None:
            yield sentences.NO_PLATFORM.at((*path, field), task=task.name)
    if platform is None:
        return
    if task.privileged and not platform.privileged_allowed:
        yield sentences.PRIVILEGED_NOT_ALLOWED.at((*path, "privileged"), **facts)
    if task.host_network and not platform.host_network_allowed:
        yield sentences.HOST_NETWORK_NOT_ALLOWED.at((*path, "hostNetwork"), **facts)
    yield from _mount_problems(task.volume_mounts, (*path, "volumeMounts"), platform, facts)


def _mount_problems(
    mounts: Sequence[str], path: Path, platform: Platform, facts: Mapping[str, str]
) -> Iterator[Problem]:
    allowed = {directory for each in platform.allowed_mounts if (directory := _directory(each))}
    targets: set[str] = set()
    for i, written in enumerate(mounts):
        mount = mount_of(written)
        if mount is None:
            yield sentences.NOT_A_MOUNT.at((*path, i), mount=written)
        elif mount.source not in allowed:
            remedy = OneOf.among(mount.source, allowed)
            yield sentences.MOUNT_NOT_ALLOWED.at((*path, i), mount=mount.source, remedy=remedy, **facts)
        elif mount.target in targets:
            yield sentences.MOUNTED_TWICE.at((*path, i), target=mount.target)
        else:
            targets.add(mount.target)


def _directory(path: str) -> str:
    """An absolute path without superfluous slashes; empty where it is none, or climbs by ``..``."""
    steps = [step for step in path.split("/") if step]
    if not path.startswith("/") or any(step in (".", "..") for step in steps):
        return ""
    return "/" + "/".join(steps)
