"""Names that Grove would give twice: it joins names and numbers by dashes, which names may hold as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.grove.naming import clique_name, replica_name, scaled_name, scaling_group_name
from closeknit.hub.problems import Problem, as_told, shown


@dataclass(frozen=True, slots=True)
class Repeated:
    """A scaling group: how often which cliques are repeated."""

    name: str
    replicas: int
    cliques: Sequence[str]


def clashes(given: wire.PodCliqueSet, groups: Sequence[Repeated]) -> Iterator[Problem]:
    """Cliques of one replica of a set whose objects would have one name.

    A replica of a scaling group counts as well, because its constraint goes by its name in a gang.
    """
    template = given.spec.template
    paths = {clique.name: f"spec.template.cliques[{i}].name" for i, clique in enumerate(template.cliques)}
    taken: dict[str, str] = {}
    for name, path in _names(given, groups, paths):
        first = taken.setdefault(name, path)
        if first != path:
            message = f"This leads to the name {shown(name)}, and so does {first}. Rename one of the two."
            yield as_told(path, message)


def _names(
    given: wire.PodCliqueSet, groups: Sequence[Repeated], paths: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """The names of everything in the first replica, with the field that each comes from."""
    whole = given.metadata.name
    for i, group in enumerate(groups):
        path = f"spec.template.podCliqueScalingGroups[{i}].name"
        for number in range(group.replicas):
            within = scaled_name(scaling_group_name(whole, 0, group.name), number)
            yield within, path
            yield from ((clique_name(within, clique), paths[clique]) for clique in group.cliques)
    grouped = {clique for group in groups for clique in group.cliques}
    base = replica_name(whole, 0)
    yield from ((clique_name(base, clique), paths[clique]) for clique in paths if clique not in grouped)
