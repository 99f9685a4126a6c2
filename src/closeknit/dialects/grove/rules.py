"""The rules for a PodCliqueSet that have nothing to do with topology."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.grove.constraints import places
from closeknit.dialects.grove.naming import LONGEST, own_name_problems
from closeknit.hub.problems import Problem, as_told, between, shown, suggestion

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_EXPLICIT = "CliqueStartupTypeExplicit"
_CARELESS = ("lpx-scheduler", "volcano")
"""Schedulers for which Grove refuses constraints."""
_STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", _EXPLICIT)


def rules(given: wire.PodCliqueSet) -> Iterator[Problem]:
    """Everything that Grove would refuse, whatever the topology."""
    template = given.spec.template
    yield from own_name_problems(given.metadata.name, LONGEST - 1)
    if given.spec.replicas < 0:
        yield as_told("spec.replicas", f"{given.spec.replicas} is negative. Write zero or more.")
    if not template.cliques:
        yield as_told("spec.template.cliques", "There are no cliques. Describe at least one.")
    startup = template.clique_startup_type
    if startup and startup not in _STARTUP_TYPES:
        message = f"{shown(startup)} is not a way to start. {suggestion(startup, _STARTUP_TYPES)}"
        yield as_told("spec.template.cliqueStartupType", message)
    names = [clique.name for clique in template.cliques]
    grouped = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    for i, clique in enumerate(template.cliques):
        path = f"spec.template.cliques[{i}]"
        yield from _name_problems(path, clique.name, names[:i], "spec.template.cliques")
        yield from _clique_problems(f"{path}.spec", clique, names, startup, scaled=clique.name in grouped)
        if clique.name not in grouped:
            yield from _length(f"{path}.name", given.metadata.name, (clique.name,))
    yield from _scheduler_problems(given)
    yield from _role_problems(template.cliques)
    yield from _circles(template.cliques)
    yield from _scaling_group_problems(given, names)


def _name_problems(path: str, name: str, before: Sequence[str], where: str) -> Iterator[Problem]:
    if not _DNS_LABEL.fullmatch(name) or len(name) > 63:
        yield as_told(
            f"{path}.name",
            f"{shown(name)} is not a valid name. Allowed are at most 63 lower-case letters, digits and"
            " dashes, with a letter or digit at both ends.",
        )
    if name in before:
        message = f"{shown(name)} is already the name of {where}[{before.index(name)}]. Give each its own."
        yield as_told(f"{path}.name", message)


def _length(path: str, pod_clique_set: str, parts: tuple[str, ...]) -> Iterator[Problem]:
    length = len(pod_clique_set) + sum(len(part) for part in parts)
    # A set whose name alone leaves no room is told at its own name, and not at every clique.
    if length > LONGEST > len(pod_clique_set):
        joined = ", ".join(shown(part) for part in (pod_clique_set, *parts))
        yield as_told(
            path,
            f"The names {joined} have {length} characters together. At most {LONGEST} leave room for the"
            " names of pods; shorten one of them.",
        )


def _clique_problems(
    path: str, clique: wire.PodCliqueTemplate, names: Sequence[str], startup: str, *, scaled: bool
) -> Iterator[Problem]:
    spec = clique.spec
    replicas = spec.replicas or 1
    if spec.replicas is not None and spec.replicas < 0:
        yield as_told(f"{path}.replicas", f"{spec.replicas} is negative. Write one or more.")
    elif spec.min_available is not None and not 1 <= spec.min_available <= replicas:
        message = f"{spec.min_available} of {replicas} replicas cannot be the least. {between(1, replicas)}"
        yield as_told(f"{path}.minAvailable", message)
    if spec.auto_scaling_config is not None:
        if scaled:
            message = (
                "The clique belongs to a scaling group, which is scaled as a whole. Use its scaleConfig."
            )
            yield as_told(f"{path}.autoScalingConfig", message)
        least = replicas if spec.min_available is None else spec.min_available
        yield from _autoscaling(f"{path}.autoScalingConfig", spec.auto_scaling_config, replicas, least)
    if startup != _EXPLICIT and startup in ("", *_STARTUP_TYPES):
        return
    for i, other in enumerate(spec.starts_after):
        if other == clique.name:
            yield as_told(f"{path}.startsAfter[{i}]", "A clique cannot start after itself. Leave it out.")
        elif other not in names:
            message = f"There is no clique {shown(other)}. {suggestion(other, names)}"
            yield as_told(f"{path}.startsAfter[{i}]", message)
        elif other in spec.starts_after[:i]:
            yield as_told(f"{path}.startsAfter[{i}]", f"{shown(other)} is listed before. Name each once.")


def _autoscaling(path: str, given: wire.AutoScalingConfig, replicas: int, least: int) -> Iterator[Problem]:
    lowest = replicas if given.min_replicas is None else given.min_replicas
    if lowest < least:
        message = f"{lowest} is less than minAvailable, which is {least}. Write {least} or more."
        yield as_told(f"{path}.minReplicas", message)
    if given.max_replicas < max(lowest, replicas):
        most = max(lowest, replicas)
        message = f"{given.max_replicas} is less than there are at least, {most}. Write {most} or more."
        yield as_told(f"{path}.maxReplicas", message)


def _scheduler_problems(given: wire.PodCliqueSet) -> Iterator[Problem]:
    """All pods of a set have one scheduler, and one that can keep them together if they ask for it."""
    template = given.spec.template
    named: dict[str, int] = {}
    for i, clique in enumerate(template.cliques):
        name = (clique.spec.pod_spec or {}).get("schedulerName")
        if isinstance(name, str) and name:
            named.setdefault(name, i)
    first = next(iter(named), "")
    for name, i in named.items():
        path = f"spec.template.cliques[{i}].spec.podSpec.schedulerName"
        if name != first:
            message = (
                f"{shown(name)} is not {shown(first)}, which spec.template.cliques[{named[first]}] names."
            )
            yield as_told(path, f"{message} All pods of a set have one scheduler.")
        if name in _CARELESS and any(place.given is not None for place in places(given).values()):
            message = f"{shown(name)} knows nothing of topology constraints."
            yield as_told(path, f"{message} Use kai-scheduler, or leave the constraints out.")


def _role_problems(cliques: Sequence[wire.PodCliqueTemplate]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for i, clique in enumerate(cliques):
        role = clique.spec.role_name
        if role and (first := seen.setdefault(role, i)) != i:
            message = (
                f"{shown(role)} is already the role of spec.template.cliques[{first}]. Give each its own."
            )
            yield as_told(f"spec.template.cliques[{i}].spec.roleName", message)


def _circles(cliques: Sequence[wire.PodCliqueTemplate]) -> Iterator[Problem]:
    """Cliques that wait for each other."""
    after: dict[str, list[str]] = {}
    for clique in cliques:
        after.setdefault(clique.name, []).extend(clique.spec.starts_after)
    waiting = {name: {other for other in others if other in after} - {name} for name, others in after.items()}
    while ready := [name for name, others in waiting.items() if not others]:
        for name in ready:
            del waiting[name]
        for others in waiting.values():
            others.difference_update(ready)
    if waiting:
        start = min(waiting)
        trail = [start]
        while (following := min(waiting[trail[-1]])) not in trail:
            trail.append(following)
        circle = (*trail[trail.index(following) :], following)
        index = next(i for i, clique in enumerate(cliques) if clique.name == following)
        written = " after ".join(shown(name) for name in circle)
        message = f"These cliques wait for each other: {written}. Let one of them start first."
        yield as_told(f"spec.template.cliques[{index}].spec.startsAfter", message)


def _scaling_group_problems(given: wire.PodCliqueSet, names: Sequence[str]) -> Iterator[Problem]:
    where = "spec.template.podCliqueScalingGroups"
    groups = given.spec.template.pod_clique_scaling_groups
    owners: dict[str, int] = {}
    for i, group in enumerate(groups):
        path = f"{where}[{i}]"
        yield from _name_problems(path, group.name, [each.name for each in groups[:i]], where)
        if not group.clique_names:
            yield as_told(f"{path}.cliqueNames", f"There are no cliques here. {suggestion('', names)}")
        counts = Counter(group.clique_names)
        for j, name in enumerate(group.clique_names):
            here = f"{path}.cliqueNames[{j}]"
            if name not in names:
                yield as_told(here, f"There is no clique {shown(name)}. {suggestion(name, names)}")
                continue
            first = owners.setdefault(name, i)
            if first != i:
                message = (
                    f"{shown(name)} belongs to {where}[{first}] already. A clique has one scaling group."
                )
                yield as_told(here, message)
            elif counts[name] > 1 and name in group.clique_names[:j]:
                yield as_told(here, f"{shown(name)} is listed before. Name each clique once.")
            yield from _length(here, given.metadata.name, (group.name, name))
        replicas = 1 if group.replicas is None else group.replicas
        least = 1 if group.min_available is None else group.min_available
        if replicas < 1:
            yield as_told(f"{path}.replicas", f"{replicas} is not possible. Write one or more.")
        elif not 1 <= least <= replicas:
            message = f"{least} of {replicas} replicas cannot be the least. {between(1, replicas)}"
            yield as_told(f"{path}.minAvailable", message)
        if group.scale_config is not None:
            yield from _autoscaling(f"{path}.scaleConfig", group.scale_config, replicas, least)
