"""Why a request cannot be placed, as data: the groups at fault, what each lacks, and what would help.

Everything said here holds on the cluster as it is: counts were reached by a layout
or by sums that decide, and every relaxation was tried on the whole request.
"""

from __future__ import annotations

from closeknit.engine.explanation.blame import Blame, Culprit
from closeknit.engine.explanation.coarser_levels import CoarserLevels
from closeknit.engine.explanation.departures import Departures
from closeknit.engine.explanation.exclusions import exclusions
from closeknit.engine.explanation.fewer_pods import FewerPods
from closeknit.engine.explanation.fits import Survey
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.ledger import PODS, Ledger
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Shortfall
from closeknit.hub.shortfall import NoDomain, PodTooLarge, ShortfallReason
from closeknit.hub.topology import Topology

# Questions to the search, by what they are for; all explanations together make do with so many.
_TO_BLAME = 6
_TO_FIT = 6
_TO_RELAX_LEVELS = 14
_TO_RELAX_COUNTS = 6
_TO_DEPART = 8


def shortfalls(trials: Trials, topology: Topology | None, *, decided: bool) -> tuple[Shortfall, ...]:
    """Explain why a request cannot be placed.

    Unless that is ``decided``, only groups are told that surely cannot be placed by themselves.
    """
    root = trials.request.root
    survey = Survey(trials)
    trials.grant(_TO_BLAME)
    culprits = [each for each in Blame(trials).culprits(root) if decided or each.core.name != root.name]
    if not culprits:
        # Nothing is at fault for certain but that the whole took too long.
        return ()
    trials.grant(_TO_FIT)
    known: dict[object, Shortfall] = {}
    for culprit in culprits:
        if culprit.twin not in known:
            known[culprit.twin] = _shortfall(trials, survey, culprit)
    trials.grant(_TO_RELAX_LEVELS)
    levels = CoarserLevels(trials, topology).relaxation(root, culprits)
    trials.grant(_TO_RELAX_COUNTS)
    counts = FewerPods(trials).relaxation(root, culprits)
    trials.grant(_TO_DEPART)
    departures = Departures(trials, survey).relaxation(root, culprits)
    relaxations = tuple(each for each in (levels, counts, departures) if each is not None)
    return tuple(
        replace(
            known[culprit.twin],
            group=culprit.core.name,
            reason=_reason(trials.ledger, culprit),
            relaxations=relaxations,
        )
        for culprit in culprits
    )


def _shortfall(trials: Trials, survey: Survey, culprit: Culprit) -> Shortfall:
    best = survey.best(culprit)
    return Shortfall(
        group=culprit.core.name,
        reason=_reason(trials.ledger, culprit),
        wanted=culprit.wanted,
        fits=max((fit.fits for fit in best), default=0),
        best=best,
        excluded=exclusions(trials.ledger, culprit.compiled),
        relaxations=(),
    )


def _reason(ledger: Ledger, culprit: Culprit) -> ShortfallReason:
    """A pod that no empty node could take is a reason of its own: no pod that ends makes it fit."""
    level = culprit.core.required
    for pod_set in culprit.compiled.pod_sets:
        if not pod_set.need:
            continue
        for resource, requested in sorted(pod_set.pods.resources.items()):
            if resource == PODS:
                continue
            largest = int(ledger.allocatable[ledger.resource_row(resource)].max(initial=0))
            if requested > largest:
                return PodTooLarge(level, pod_set.name, resource, requested, largest)
    return NoDomain(level)
