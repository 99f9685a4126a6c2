"""``domainToLabelMapping``: what the domains of a deployment mean where there is no topology of Grove."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.apis.operator_config_dynamo_nvidia_com_v1alpha1 import OperatorConfiguration
from closeknit.dialects.grove.topologies import DOMAINS
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion
from closeknit.hub.topology import Level, Topology

NAME = "dynamo-domains"
"""The topology that a mapping describes."""

_PATH = "spec.operator.topologyAwareScheduling.domainToLabelMapping"
_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


def read_mapping(manifests: View) -> Iterator[Topology | Reported]:
    """The topology of the operator's settings, if they have a mapping; coarsest domain first."""
    for number, manifest in enumerate(manifests.of(OperatorConfiguration)):
        mapping = manifest.content.spec.operator.topology_aware_scheduling.domain_to_label_mapping
        found = list(_problems(mapping))
        if number:
            found = [
                as_told("spec.operator", "There are settings of the operator already. Remove one of the two.")
            ]
        yield from (manifest.report(problem) for problem in found)
        if mapping and not found:
            ordered = sorted(mapping.items(), key=lambda pair: DOMAINS.index(pair[0]))
            yield Topology(NAME, tuple(Level(label, domain) for domain, label in ordered))


def mapped(manifests: View) -> Topology | None:
    """The topology of a mapping without problems."""
    return next((one for one in read_mapping(manifests) if isinstance(one, Topology)), None)


def _problems(mapping: dict[str, str]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for domain, label in mapping.items():
        path = within(_PATH, domain)
        if domain not in DOMAINS:
            message = f"{shown(domain)} is not a topology domain. {suggestion(domain, DOMAINS)}"
            yield as_told(path, message)
        prefix, _, name = label.rpartition("/")
        if not _KEY.fullmatch(label) or len(prefix) > 253 or len(name) > 63:
            yield as_told(path, f"{shown(label)} is not a label key. Write one such as example.com/rack.")
        elif (first := seen.setdefault(label, domain)) != domain:
            message = f"{shown(label)} is already the label of {shown(first)}. Each domain has its own."
            yield as_told(path, message)
