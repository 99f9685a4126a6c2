"""``domainToLabelMapping``: what the domains of a deployment mean where there is no topology of Grove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from closeknit.apis.operator_config_dynamo_nvidia_com_v1alpha1 import OperatorConfiguration
from closeknit.dialects.core.naming import is_label_key
from closeknit.dialects.family import Described
from closeknit.dialects.grove.topologies import DOMAINS, MANAGED, Known, known
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.sentences.grove import NOT_A_TOPOLOGY_DOMAIN
from closeknit.hub.topology import Level, Topology

NAME = "dynamo-domains"
"""The topology that a mapping describes."""

_PATH: Path = ("spec", "operator", "topologyAwareScheduling", "domainToLabelMapping")


def topologies(view: View) -> Described:
    """The topology of the operator's settings, if they have a mapping; coarsest domain first."""
    described: dict[str, Topology] = {}
    problems: list[Reported] = []
    for number, stored in enumerate(view.of(OperatorConfiguration)):
        mapping = stored.content.spec.operator.topology_aware_scheduling.domain_to_label_mapping
        found = list(_problems(mapping))
        if number:
            found = [sentences.SECOND_SETTINGS.at(("spec", "operator"))]
        problems.extend(map(stored.report, found))
        if mapping and not found:
            ordered = sorted(mapping.items(), key=lambda pair: DOMAINS.index(pair[0]))
            described[NAME] = Topology(NAME, tuple(Level(label, domain) for domain, label in ordered))
    return Described(described, tuple(problems))


def mapped(view: View) -> Topology | None:
    """The topology of a mapping without problems."""
    return view.derive(topologies).topologies.get(NAME)


def known_to_dynamo(view: View) -> Known:
    """Grove's topologies, and the one that a mapping describes."""
    groves, mapping = view.derive(known), mapped(view)
    if mapping is None:
        return groves
    return replace(groves, topologies={**groves.topologies, mapping.name: mapping})


def meant_where_none_is_named(view: View) -> str:
    """The topology that a deployment speaks of which names none."""
    mapping = mapped(view)
    return mapping.name if mapping is not None and MANAGED not in view.derive(known).topologies else MANAGED


def _problems(mapping: dict[str, str]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for domain, label in mapping.items():
        path = (*_PATH, domain)
        if domain not in DOMAINS:
            yield NOT_A_TOPOLOGY_DOMAIN.at(path, domain=domain, remedy=OneOf(domain, DOMAINS))
        if not is_label_key(label):
            yield sentences.NOT_A_LABEL_KEY.at(path, label=label)
        elif (first := seen.setdefault(label, domain)) != domain:
            yield sentences.LABEL_TAKEN.at(path, label=label, first=first)
