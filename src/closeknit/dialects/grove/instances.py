"""The cliques of a PodCliqueSet one by one, each with its name and the gang that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.dialects.grove.blueprint import Blueprint, Clique, ScalingGroup
from closeknit.dialects.grove.names import clique_name, replica_name, scaled_name, scaling_group_name


@dataclass(frozen=True, slots=True)
class Scaled:
    """A clique's place in a scaling group."""

    group: ScalingGroup
    name: str
    """Of the scaling group, as an object."""
    index: int


@dataclass(frozen=True, slots=True)
class CliqueInstance:
    """A clique of one replica of a set."""

    clique: Clique
    name: str
    replica: int
    gang: str
    base: str | None
    """The gang that must run before this one; None for the base gang itself."""
    scaled: Scaled | None

    @property
    def siblings(self) -> tuple[Clique, ...]:
        """The cliques that are repeated together with this one, itself included."""
        return self.scaled.group.cliques if self.scaled else (self.clique,)


def instances(made: Blueprint) -> Iterator[CliqueInstance]:
    """Every clique of every replica, base gang first."""
    for replica in range(made.replicas):
        yield from instances_of(made, replica)


def instances_of(made: Blueprint, replica: int) -> Iterator[CliqueInstance]:
    """Every clique of one replica, base gang first."""
    base = replica_name(made.name, replica)
    for clique in made.cliques:
        yield CliqueInstance(clique, clique_name(base, clique.name), replica, base, None, None)
    for beyond in (False, True):
        for group in made.groups:
            name = scaling_group_name(made.name, replica, group.name)
            for index in range(group.least, group.replicas) if beyond else range(group.least):
                # Grove counts the gangs beyond the base from zero again.
                gang = scaled_name(name, index - group.least) if beyond else base
                for clique in group.cliques:
                    own = clique_name(scaled_name(name, index), clique.name)
                    yield CliqueInstance(
                        clique, own, replica, gang, base if beyond else None, Scaled(group, name, index)
                    )


def starts_after(made: Blueprint, instance: CliqueInstance) -> list[str]:
    """The PodCliques that must run before this one.

    Within a scaling group a clique waits for those of its own replica; for those of
    another group it waits as far as they are part of the base gang. A scaled gang waits
    for the base gang anyway, so nothing outside its own group is named there.
    """
    wanted: Sequence[str]
    match made.given.spec.template.clique_startup_type:
        case "CliqueStartupTypeInOrder":
            order = [clique.name for clique in made.all_cliques()]
            position = order.index(instance.clique.name)
            wanted = order[position - 1 : position] if position else []
        case "CliqueStartupTypeExplicit":
            wanted = instance.clique.given.spec.starts_after
        case _:
            wanted = []
    own = {clique.name for clique in instance.siblings}
    found: list[str] = []
    for name in wanted:
        if instance.scaled is not None and name in own:
            found.append(clique_name(scaled_name(instance.scaled.name, instance.scaled.index), name))
        elif instance.base is None:
            found.extend(_in_base(made, instance.replica, name))
    return found


def _in_base(made: Blueprint, replica: int, clique: str) -> Iterator[str]:
    """The PodCliques of a clique that are part of the base gang."""
    for group in made.groups:
        if any(member.name == clique for member in group.cliques):
            within = scaling_group_name(made.name, replica, group.name)
            yield from (clique_name(scaled_name(within, index), clique) for index in range(group.least))
            return
    yield clique_name(replica_name(made.name, replica), clique)
