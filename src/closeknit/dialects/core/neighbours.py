"""What a pod asks of the pods around it: affinity, anti-affinity and spreading, as the hub has them.

Everything is resolved when a pod is read. A selector means pods of the pod's own namespace unless it says
otherwise, ``matchLabelKeys`` and ``mismatchLabelKeys`` become requirements with the pod's own values, and all
required terms of affinity are one rule, since Kubernetes counts pods that all of them mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from closeknit.apis import core_v1
from closeknit.dialects.core.namespaces import NAME
from closeknit.hub.many_problems import first_of
from closeknit.hub.neighbours import (
    Apart,
    NamespaceSelector,
    Near,
    Neighbour,
    PodRule,
    PodSelector,
    Spread,
)
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, Range
from closeknit.hub.sentences import core as sentences

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_POLICIES = ("Honor", "Ignore")

_OF_ONE_POD = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "grove.io/podclique-pod-index",
        "job-name",
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-group-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
        "jobset.sigs.k8s.io/job-uid",
        "jobset.sigs.k8s.io/restart-attempt",
        "kai.scheduler/task-priority",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "osmo.lead_container",
        "osmo.retry_id",
        "osmo.task_name",
        "statefulset.kubernetes.io/pod-name",
        "training.kubeflow.org/replica-index",
    }
)
"""Labels by which controllers tell pods of one set apart. Unless a pod's own rules speak of them, they do not
make it another kind of pod: a thousand pods that differ in their index are still equal."""


class NeighbourReader:
    """Reads the rules of one pod spec, with every problem."""

    def __init__(self, spec: core_v1.PodSpec, namespace: str, labels: Mapping[str, str]) -> None:
        self._spec = spec
        self._namespace = namespace
        self._labels = labels
        self._spoken_of: set[str] = set()
        self.problems: list[Problem] = []

    def read(self) -> Neighbour:
        """What others see of the pod."""
        rules = tuple(self._rules())
        labels = {
            key: value
            for key, value in self._labels.items()
            if key not in _OF_ONE_POD or key in self._spoken_of
        }
        return Neighbour(self._namespace, tuple(sorted(labels.items())), rules)

    def _rules(self) -> Iterator[PodRule]:
        affinity, where = self._spec.affinity, ("spec", "affinity")
        near, apart = (*where, "podAffinity"), (*where, "podAntiAffinity")
        required = [
            self._term(term, (*near, _REQUIRED, i))
            for i, term in enumerate(
                affinity.pod_affinity.required_during_scheduling_ignored_during_execution
            )
        ]
        if required:
            yield Near(tuple(sorted({key for key, _ in required})), _joined([each for _, each in required]))
        for i, term in enumerate(
            affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
        ):
            yield Apart(*self._term(term, (*apart, _REQUIRED, i)))
        for path, kind in ((near, affinity.pod_affinity), (apart, affinity.pod_anti_affinity)):
            for i, given in enumerate(kind.preferred_during_scheduling_ignored_during_execution):
                at = (*path, _PREFERRED, i)
                if not 1 <= given.weight <= 100:
                    wrong = sentences.OUT_OF_RANGE
                    self.problems.append(wrong.at((*at, "weight"), value=given.weight, allowed=Range(1, 100)))
                key, selector = self._term(given.pod_affinity_term, (*at, "podAffinityTerm"))
                yield (
                    Near((key,), selector, given.weight)
                    if path is near
                    else Apart(key, selector, given.weight)
                )
        for i, constraint in enumerate(self._spec.topology_spread_constraints):
            yield self._spread(constraint, ("spec", "topologySpreadConstraints", i))

    def _term(self, given: core_v1.PodAffinityTerm, path: Path) -> tuple[str, PodSelector]:
        if not given.topology_key:
            self.problems.append(sentences.TOPOLOGY_KEY_MISSING.at((*path, "topologyKey")))
        namespaces, within = self._namespaces(given, path)
        requirements = self._requirements(given.label_selector, (*path, "labelSelector"))
        if given.label_selector is None:
            # Without a selector nobody is meant.
            return given.topology_key, PodSelector(frozenset())
        requirements += self._own(given.match_label_keys, Operator.IN)
        requirements += self._own(given.mismatch_label_keys, Operator.NOT_IN)
        return given.topology_key, PodSelector(namespaces, tuple(requirements), within)

    def _namespaces(
        self, given: core_v1.PodAffinityTerm, path: Path
    ) -> tuple[frozenset[str] | None, tuple[NamespaceSelector, ...]]:
        """The names of the namespaces that a term means, None for all of them; and selectors among these."""
        chosen = given.namespace_selector
        named = frozenset(given.namespaces)
        if chosen is None:
            return named or frozenset([self._namespace]), ()
        requirements = self._requirements(chosen, (*path, "namespaceSelector"), mine=False)
        if not requirements:
            return None, ()
        if all(each.key == NAME and each.operator is Operator.IN for each in requirements):
            names = frozenset.intersection(*(frozenset(each.values) for each in requirements))
            return named | names, ()
        return None, (NamespaceSelector(named, tuple(requirements)),)

    def _spread(self, given: core_v1.TopologySpreadConstraint, path: Path) -> Spread:
        if not given.topology_key:
            self.problems.append(sentences.TOPOLOGY_KEY_MISSING.at((*path, "topologyKey")))
        for field, value in (("maxSkew", given.max_skew), ("minDomains", given.min_domains)):
            if value is not None and value < 1:
                allowed = Range(1, 2**31 - 1)
                self.problems.append(sentences.OUT_OF_RANGE.at((*path, field), value=value, allowed=allowed))
        choices = (
            ("whenUnsatisfiable", given.when_unsatisfiable, ("DoNotSchedule", "ScheduleAnyway")),
            ("nodeAffinityPolicy", given.node_affinity_policy, _POLICIES),
            ("nodeTaintsPolicy", given.node_taints_policy, _POLICIES),
        )
        for field, written, allowed_values in choices:
            if written not in allowed_values:
                remedy = OneOf.among(written, allowed_values)
                self.problems.append(
                    sentences.UNKNOWN_CHOICE.at((*path, field), value=written, remedy=remedy)
                )
        requirements = self._requirements(given.label_selector, (*path, "labelSelector"))
        requirements += self._own(given.match_label_keys, Operator.IN)
        mine = frozenset([self._namespace]) if given.label_selector is not None else frozenset[str]()
        return Spread(
            given.topology_key,
            PodSelector(mine, tuple(requirements)),
            max(given.max_skew, 1),
            given.min_domains,
            heeds_filter=given.node_affinity_policy == "Honor",
            heeds_taints=given.node_taints_policy == "Honor",
            required=given.when_unsatisfiable == "DoNotSchedule",
        )

    def _own(self, keys: Sequence[str], operator: Operator) -> list[Requirement]:
        """Requirements with the pod's own values; a label that it lacks is passed over, as in Kubernetes."""
        self._spoken_of.update(keys)
        return [Requirement(key, operator, (self._labels[key],)) for key in keys if key in self._labels]

    def _requirements(
        self, given: core_v1.LabelSelector | None, path: Path, *, mine: bool = True
    ) -> list[Requirement]:
        found = requirements(given, path, self.problems) if given is not None else []
        if mine:
            self._spoken_of.update(each.key for each in found)
        return found


def requirements(given: core_v1.LabelSelector, path: Path, problems: list[Problem]) -> list[Requirement]:
    """What a selector asks of labels; what is wrong with it is added to ``problems``, and left out."""
    problems.extend(first_of(selector_problems(given, path)))
    found = [Requirement(key, Operator.IN, (value,)) for key, value in sorted(given.match_labels.items())]
    for each in given.match_expressions:
        if each.operator in _OPERATORS:
            values = tuple(sorted(set(each.values)))
            found.append(Requirement(each.key, Operator(each.operator), values))
    return found


def selector_problems(given: core_v1.LabelSelector, path: Path) -> Iterator[Problem]:
    """What is wrong with a selector."""
    for i, each in enumerate(given.match_expressions):
        at = (*path, "matchExpressions", i)
        if each.operator not in _OPERATORS:
            remedy = OneOf.among(each.operator, _OPERATORS)
            yield sentences.UNKNOWN_CHOICE.at((*at, "operator"), value=each.operator, remedy=remedy)
        elif each.operator in ("In", "NotIn") and not each.values:
            yield sentences.VALUES_MISSING.at((*at, "values"), operator=each.operator)


def _joined(selectors: list[PodSelector]) -> PodSelector:
    """Pods that all of these mean."""
    named = [each.namespaces for each in selectors if each.namespaces is not None]
    requirements = tuple(dict.fromkeys(each for one in selectors for each in one.requirements))
    within = tuple(dict.fromkeys(each for one in selectors for each in one.within))
    return PodSelector(frozenset.intersection(*named) if named else None, requirements, within)
