"""Any request of the hub as a PodCliqueSet, as far as three levels can express it.

A group that neither constrains its members nor does without any of them adds nothing, so
its members move up; and a group around a single one becomes one with it. What is left
must be a set of cliques and scaling groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.naming import UniqueNames, plain_name, shortened
from closeknit.dialects.core.pod_specs import only_pods, pod_labels, pod_spec
from closeknit.dialects.family import Object
from closeknit.dialects.grove.names import LONGEST
from closeknit.dialects.grove.to_cliques import API_VERSION
from closeknit.dialects.grove.topologies import DOMAINS
from closeknit.hub.copying import replace
from closeknit.hub.problems import Code, Fact, InvalidError, Problem
from closeknit.hub.request import Group, Member, PodSet
from closeknit.hub.sentences import grove as sentences
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import PlaceableWorkload

_DOMAIN = re.compile(r"[a-z][a-z0-9-]{0,62}", re.ASCII)
_SHARE = LONGEST // 3
"""How long a name may be, so that three of them fit into the name of a pod."""


def express(workload: PlaceableWorkload, topologies: Mapping[str, Topology]) -> Iterator[Object]:
    """A ClusterTopologyBinding and a PodCliqueSet that ask for the same.

    Raises ``InvalidError`` for a tree that Grove has no words for, with every place.
    """
    request = workload.request
    topology = topologies.get(request.topology) if request.topology is not None else None
    writer = _Writer(topology, workload.object.name)
    template = writer.template(request.root)
    if writer.problems:
        raise InvalidError(writer.problems)
    if topology is not None:
        named = tuple(Level(level.label, writer.domains[level.label]) for level in topology.levels)
        yield to_binding(Topology(topology.name, named))
    metadata = {"name": writer.name}
    if workload.object.namespace:
        metadata["namespace"] = workload.object.namespace
    yield new_object(API_VERSION, "PodCliqueSet", metadata, {"replicas": 1, "template": template})


def to_binding(topology: Topology) -> Object:
    """A ClusterTopologyBinding of a topology whose levels have names."""
    levels = [{"domain": level.name, "key": level.label} for level in topology.levels]
    return new_object(API_VERSION, "ClusterTopologyBinding", {"name": topology.name}, {"levels": levels})


def domains_of(topology: Topology) -> dict[str, str]:
    """A valid domain for each label of a topology: the level's name where that is one.

    Otherwise it is one of Grove's own words, where the label's last part holds one, or else that part.
    """
    found: dict[str, str] = {}
    for level in topology.levels:
        wanted = level.name or ""
        if not _DOMAIN.fullmatch(wanted):
            plain = re.sub(r"[^a-z0-9]+", "-", level.label.rpartition("/")[2].lower()).strip("-")
            words = ["host" if word == "hostname" else word for word in plain.split("-")]
            named = plain if _DOMAIN.fullmatch(plain) else f"level-{plain}"[:60].strip("-")
            wanted = next((word for word in words if word in DOMAINS), named)
        number, domain = 1, wanted
        while domain in found.values():
            number += 1
            domain = f"{wanted[:58]}-{number}"
        found[level.label] = domain
    return found


class _Writer:
    """Writes one template, and gathers what it cannot express."""

    def __init__(self, topology: Topology | None, name: str) -> None:
        self.problems: list[Problem] = []
        self.domains = domains_of(topology) if topology is not None else {}
        self.name = shortened(plain_name(name), _SHARE)
        self._topology = topology
        self._names = UniqueNames(_SHARE, digits=3)

    def template(self, root: Group) -> Object:
        whole = self._simple(root)
        cliques: list[Object] = []
        groups: list[Object] = []
        self._all_needed(whole)
        for member in whole.members:
            if (pods := only_pods(member)) is not None:
                cliques.extend(self._clique(member, pods))
                continue
            assert isinstance(member, Group)
            self._all_needed(member)
            inside: list[Object] = []
            for inner in member.members:
                if (pods := only_pods(inner)) is not None:
                    inside.extend(self._clique(inner, pods))
                else:
                    self._cannot(sentences.GROUP_TOO_DEEP, inner)
            if inside:
                names = [clique["name"] for clique in inside]
                config = {"name": self._own_name(member), "cliqueNames": names, **self._constraint(member)}
                groups.append(config)
                cliques.extend(inside)
        if not cliques and not self.problems:
            self._cannot(sentences.NOTHING_TO_RUN, root)
        template: Object = {**self._constraint(whole), "cliques": cliques}
        return {**template, "podCliqueScalingGroups": groups} if groups else template

    def _simple(self, group: Group) -> Group:
        """The same request with as few groups as possible."""
        members: list[Member] = []
        for member in group.members:
            inner = self._simple(member) if isinstance(member, Group) else member
            if (
                isinstance(inner, Group)
                and inner.required is None
                and inner.preferred is None
                and inner.least == len(inner.members)
                and group.least == len(group.members)
                and only_pods(inner) is None
            ):
                members.extend(inner.members)
            else:
                members.append(inner)
        needed = None if group.minimum is None or group.least == len(group.members) else group.minimum
        simple = replace(group, members=tuple(members), minimum=needed)
        only = simple.members[0] if len(simple.members) == 1 and simple.least == 1 else None
        if isinstance(only, Group):
            required = only.required or simple.required
            preferred = only.preferred or simple.preferred
            if (
                required is not None
                and preferred is not None
                and self._depth(preferred) < self._depth(required)
            ):
                preferred = None
            return replace(only, name=simple.name, required=required, preferred=preferred)
        return simple

    def _depth(self, label: str) -> int:
        assert self._topology is not None
        return self._topology.labels.index(label)

    def _clique(self, member: Member, pods: PodSet) -> Iterator[Object]:
        if pods.count == 0:
            return
        if pods.least == 0:
            self._cannot(sentences.NONE_NEEDED, pods)
            return
        name = self._own_name(member)
        spec: Object = {"roleName": name, "replicas": pods.count, "minAvailable": pods.least}
        spec["podSpec"] = pod_spec(pods)
        labels = {"labels": seen} if (seen := pod_labels(pods)) else {}
        yield {
            "name": name,
            **labels,
            **self._constraint(member),
            "spec": {**spec, "podSpec": pod_spec(pods)},
        }

    def _constraint(self, member: Member) -> Object:
        if isinstance(member, PodSet) or (member.required is None and member.preferred is None):
            return {}
        assert self._topology is not None
        given = (("required", member.required), ("preferred", member.preferred))
        pack = {key: self.domains[label] for key, label in given if label is not None}
        return {"topologyConstraint": {"topologyName": self._topology.name, "pack": pack}}

    def _all_needed(self, group: Group) -> None:
        if group.least != len(group.members):
            self._cannot(sentences.SOME_NEEDED, group, least=group.least, members=len(group.members))

    def _cannot(self, code: Code, member: Member, **facts: Fact) -> None:
        self.problems.append(code.at((), member=member.name, **facts))

    def _own_name(self, member: Member) -> str:
        # A pod set's number after the slash distinguishes the pod sets of one group, so it stays.
        return self._names.take(shortened(plain_name(member.name), _SHARE))
