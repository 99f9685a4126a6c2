"""What may not change in a DynamoGraphDeployment once it exists: everything about topology."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.dialects.dynamo.deployments import Component, Deployment, read_deployment
from closeknit.dialects.dynamo.rules import Place, of_component, of_deployment, of_roles
from closeknit.dialects.dynamo.topologies import meant_where_none_is_named
from closeknit.dialects.grove import places
from closeknit.dialects.grove.updates import constraint_problems
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, shown
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.sentences.grove import FIELD_CHANGED

_KIND = "DynamoGraphDeployment"


def update_problems(old: Stored[Any], new: Stored[Any], view: View) -> Iterator[Problem]:
    """Everything about a change that cannot be made in place; the two may be of different versions.

    Where a deployment may leave out its topology, naming the one that is meant anyway changes nothing.
    """
    before, after = (read_deployment(each.content, [], lenient=True) for each in (old, new))
    meant = view.derive(meant_where_none_is_named)
    path: Path = ("spec", "topologyConstraint")
    if before.constrained != after.constrained:
        yield _added_or_removed(path, added=after.constrained)
    elif after.constrained:
        topologies = (_topology(each, meant) for each in (before, after))
        yield from _changed((*path, after.topology_field), *topologies)
        yield from _changed((*path, "packDomain"), before.domain, after.domain)
    yield from _override_problems(of_deployment(before), of_deployment(after))
    existing = {component.key: component for component in before.components}
    for component in after.components:
        earlier = existing.pop(component.key, None)
        if earlier is None:
            yield sentences.COMPONENT_ADDED.at(component.path, name=component.name)
        else:
            yield from _component_problems(earlier, component)
    for gone in existing.values():
        yield sentences.COMPONENT_REMOVED.at(("spec", after.listed), name=gone.name)


def _topology(given: Deployment, meant: str) -> str:
    return given.topology or (meant if given.may_leave_out_topology else "")


def _component_problems(old: Component, new: Component) -> Iterator[Problem]:
    path = (*new.path, "topologyConstraint")
    if (old.domain is None) != (new.domain is None):
        yield _added_or_removed(path, added=old.domain is None)
    else:
        yield from _changed((*path, "packDomain"), old.domain or "", new.domain or "")
    yield from _override_problems(of_component(old), of_component(new))
    for before, after in zip(of_roles(old), of_roles(new), strict=True):
        yield from _override_problems(before, after)
    if (old.nodes is None) != (new.nodes is None):
        yield sentences.NODES_CHANGED.at((*new.path, "multinode"))
    elif old.forced != new.forced:
        forced = (*new.path, "experimental", "grove", "forceScalingGroup")
        yield sentences.SCALING_GROUP_CHANGED.at(forced)
    yield from _changed((*new.path, "minAvailable"), old.least or 1, new.least or 1)


def _override_problems(old: Place, new: Place) -> Iterator[Problem]:
    """A constraint in Grove's words may change as far as Grove lets it: to another spelling of the same."""
    after = places.Place(new.constraint_path, new.constraint(), None)
    yield from constraint_problems(old.constraint(), after, _KIND)


def _added_or_removed(path: Path, *, added: bool) -> Problem:
    done = "added to" if added else "removed from"
    return sentences.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED.at(path, done=done)


def _changed(path: Path, was: str | int, now: str | int) -> Iterator[Problem]:
    if was != now:
        old, new = (shown(each) if each else "nothing" for each in (was, now))
        yield FIELD_CHANGED.at(path, old=old, new=new, kind=_KIND)
