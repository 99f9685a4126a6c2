"""``domainToLabelMapping``: what the domains of a deployment mean where there is no topology of Grove."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.grove_io_v1alpha1 import ClusterTopology, ClusterTopologyBinding
from closeknit.apis.operator_config_dynamo_nvidia_com_v1alpha1 import OperatorConfiguration
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration as GroveConfiguration
from closeknit.dialects.assumed_topologies import Asked, with_assumed
from closeknit.dialects.core.naming import is_label_key
from closeknit.dialects.dynamo.deployments import as_written, read_deployment
from closeknit.dialects.family import Described
from closeknit.dialects.grove.topologies import DOMAINS, MANAGED, Known, asked_for, known
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
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
    shapes = (OperatorConfiguration, GroveConfiguration, ClusterTopology, ClusterTopologyBinding)
    return with_assumed(view, Described(described, tuple(problems)), shapes, _asked_for(view))


def _asked_for(view: View) -> Iterator[Asked]:
    """The domains that deployments speak of. One that runs has lost a topology that is not there."""
    for shape in (alpha.DynamoGraphDeployment, beta.DynamoGraphDeployment):
        for stored in view.of(shape):
            if stored.content.metadata.uid:
                continue
            given = read_deployment(as_written(stored), [], lenient=view.lenient)
            for inner in ("", *(component.domain for component in given.components)):
                yield from asked_for(given.topology or MANAGED, filter(None, (given.domain, inner)))


def mapped(view: View) -> Topology | None:
    """The topology of a mapping without problems."""
    return view.derive(topologies).topologies.get(NAME)


def known_to_dynamo(view: View) -> Known:
    """Grove's topologies, and the one that a mapping describes."""
    groves, own = view.derive(known), view.derive(topologies).topologies
    return replace(groves, topologies={**own, **groves.topologies}) if own else groves


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
