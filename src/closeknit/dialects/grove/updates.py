"""What may not change in a PodCliqueSet once it exists: its constraints and its composition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.grove.constraints import Place, places
from closeknit.hub.problems import Problem, as_told, shown

_RECREATE = "Delete the PodCliqueSet and create it anew."


def update_problems(old: wire.PodCliqueSet, new: wire.PodCliqueSet) -> Iterator[Problem]:
    """Everything about a change that cannot be made in place.

    A requirement may move from ``packDomain`` to ``pack.required``, and a constraint
    in the earlier spelling may be given the name of its topology.
    """
    yield from _composition_problems(old.spec.template, new.spec.template)
    before = places(old)
    for name, place in places(new).items():
        if name in before:
            yield from constraint_problems(before[name].given, place)


def constraint_problems(
    old: wire.TopologyConstraint | None, new: Place, remedy: str = _RECREATE
) -> Iterator[Problem]:
    """Everything about a change of one constraint that cannot be made in place."""
    if old is None and new.given is None:
        return
    if old is None or new.given is None:
        done = "added to" if old is None else "removed from"
        yield as_told(new.path, f"A constraint cannot be {done} what exists. {remedy}")
        return
    before, after = _said(old), _said(new.given)
    for kind, was, now in zip(("required", "preferred"), before, after, strict=True):
        if was != now:
            path = f"{new.path}.pack.{kind}" if new.given.pack is not None else f"{new.path}.packDomain"
            message = f"The {kind} domain cannot change from {_worded(was)} to {_worded(now)}. {remedy}"
            yield as_told(path, message)
    named_late = not old.topology_name and bool(old.pack_domain)
    if old.topology_name != new.given.topology_name and not named_late:
        was, now = _worded(old.topology_name), _worded(new.given.topology_name)
        yield as_told(f"{new.path}.topologyName", f"The topology cannot change from {was} to {now}. {remedy}")


def _said(given: wire.TopologyConstraint) -> tuple[str, str]:
    pack = given.pack or wire.TopologyPackConstraint()
    return pack.required or given.pack_domain, pack.preferred


def _worded(domain: str) -> str:
    return shown(domain) if domain else "none"


def _composition_problems(
    old: wire.PodCliqueSetTemplate, new: wire.PodCliqueSetTemplate
) -> Iterator[Problem]:
    path = "spec.template.cliques"
    yield from _changed(path, "cliques", [one.name for one in old.cliques], [one.name for one in new.cliques])
    path = "spec.template.podCliqueScalingGroups"
    before = {group.name: group for group in old.pod_clique_scaling_groups}
    after = [group.name for group in new.pod_clique_scaling_groups]
    yield from _changed(path, "scaling groups", list(before), after)
    for i, group in enumerate(new.pod_clique_scaling_groups):
        if group.name in before:
            yield from _changed(
                f"{path}[{i}].cliqueNames", "cliques", before[group.name].clique_names, group.clique_names
            )


def _changed(path: str, what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Problem]:
    for done, names in (
        ("added", [name for name in new if name not in old]),
        ("removed", [name for name in old if name not in new]),
    ):
        if names:
            listed = ", ".join(shown(name) for name in names)
            yield as_told(path, f"The {what} cannot change, but {listed} would be {done}. {_RECREATE}")
