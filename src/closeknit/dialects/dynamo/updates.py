"""What may not change in a DynamoGraphDeployment once it exists: everything about topology."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.dialects.dynamo.deployments import Deployment
from closeknit.dialects.dynamo.overrides import Place, of_component, of_deployment, of_roles
from closeknit.dialects.grove import constraints
from closeknit.dialects.grove.updates import constraint_problems
from closeknit.hub.paths import parsed
from closeknit.hub.problems import Problem, as_told, shown

_RECREATE = "Delete the DynamoGraphDeployment and create it anew."


def update_problems(old: Deployment, new: Deployment) -> Iterator[Problem]:
    """Everything about a change that cannot be made in place; the two may be of different versions."""
    before = (old.topology, old.domain) if old.constrained else None
    after = (new.topology, new.domain) if new.constrained else None
    path = "spec.topologyConstraint"
    if (before is None) != (after is None):
        yield as_told(path, _added_or_removed(added=before is None))
    elif before is not None and after is not None:
        for field, was, now in zip((new.topology_field, "packDomain"), before, after, strict=True):
            if was != now:
                yield as_told(f"{path}.{field}", _changed(was, now))
    yield from _override_problems(of_deployment(old), of_deployment(new))
    existing = {component.key: component for component in old.components}
    for component in new.components:
        earlier = existing.pop(component.key, None)
        if earlier is None:
            message = f"{shown(component.name)} was not part of the deployment. {_RECREATE}"
            yield as_told(component.path, message)
            continue
        path = f"{component.path}.topologyConstraint"
        if (earlier.domain is None) != (component.domain is None):
            yield as_told(path, _added_or_removed(added=earlier.domain is None))
        elif earlier.domain != component.domain:
            yield as_told(f"{path}.packDomain", _changed(earlier.domain or "", component.domain or ""))
        yield from _override_problems(of_component(earlier), of_component(component))
        for before_role, after_role in zip(of_roles(earlier), of_roles(component), strict=True):
            yield from _override_problems(before_role, after_role)
        if (earlier.nodes is None) != (component.nodes is None):
            message = "A component cannot change between one node and several."
            yield as_told(f"{component.path}.multinode", f"{message} {_RECREATE}")
        elif earlier.forced != component.forced:
            message = "A component cannot change between a clique and a scaling group."
            yield as_told(f"{component.path}.experimental.grove.forceScalingGroup", f"{message} {_RECREATE}")
        if (least := earlier.least or 1) != (component.least or 1):
            message = f"This cannot change from {least} to {component.least or 1}. {_RECREATE}"
            yield as_told(f"{component.path}.minAvailable", message)
    for gone in existing.values():
        message = f"{shown(gone.name)} is part of the deployment and cannot be removed. {_RECREATE}"
        yield as_told(f"spec.{new.listed}", message)


def _override_problems(old: Place, new: Place) -> Iterator[Problem]:
    """A constraint in Grove's words may change as far as Grove lets it: to another spelling of the same."""
    after = constraints.Place(parsed(new.constraint_path), new.constraint(), None)
    yield from constraint_problems(old.constraint(), after, "DynamoGraphDeployment")


def _added_or_removed(*, added: bool) -> str:
    done = "added to" if added else "removed from"
    return f"A topology constraint cannot be {done} what exists. {_RECREATE}"


def _changed(was: str, now: str) -> str:
    words = [shown(word) if word else "nothing" for word in (was, now)]
    return f"This cannot change from {words[0]} to {words[1]}. {_RECREATE}"
