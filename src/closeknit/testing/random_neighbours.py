"""Rules among pods for random requests: most are kept by the placement that was planted, some are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import HOSTNAME
from closeknit.hub.neighbours import Apart, Near, Neighbour, PodRule, PodSelector, Spread
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.request import Request
from closeknit.testing.neighbour_meaning import broken_neighbours
from closeknit.testing.random_clusters import LEVELS, POOL
from closeknit.testing.scene import Scene

_APPS = ("api", "db", "web")


def with_neighbours(
    rng: Random, share: float, cluster: Cluster, request: Request, planted: Mapping[str, Sequence[str]]
) -> tuple[Cluster, Request]:
    """The same with labels and rules on pods, running ones and new ones, in a share of all cases."""
    # A generator of its own, so that everything else is drawn as if there were no rules.
    state = rng.getstate()[1]
    own = Random(f"{state[:4]} {state[-1]}")
    if own.random() >= share:
        return cluster, request
    seen = {pods.name: _neighbour(own) for pods in request.root.pod_sets()}
    others = [
        replace(held, neighbour=_neighbour(own)) if own.random() < 0.5 else held
        for held in cluster.holdings
        if held.workload != request.name
    ]
    keys = [HOSTNAME, POOL, *LEVELS]
    for _ in range(own.choice((1, 1, 2, 3))):
        rule = _rule(own, keys)
        chosen = own.sample(sorted(seen), min(len(seen), own.choice((1, 1, 2, 9))))
        trial = {
            name: replace(each, rules=(*each.rules, rule)) if name in chosen else each
            for name, each in seen.items()
        }
        made = _made(cluster, request, others, trial)
        if own.random() < 0.2 or _kept(*made, planted):
            seen = trial
    if own.random() < 0.4:
        rule = _rule(own, keys, apart=True)
        marked = [
            replace(held, neighbour=replace(held.neighbour, rules=(rule,))) if own.random() < 0.4 else held
            for held in others
        ]
        if own.random() < 0.3 or _kept(*_made(cluster, request, marked, seen), planted):
            others = marked
    return _made(cluster, request, others, _preferring(Random(f"preferred {own.random()}"), seen, keys))


def _preferring(rng: Random, seen: Mapping[str, Neighbour], keys: Sequence[str]) -> Mapping[str, Neighbour]:
    """The same with more preferred rules, in some cases."""
    made = dict(seen)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        rule = _rule(rng, keys, preferred=True)
        for name in rng.sample(sorted(made), min(len(made), rng.choice((1, 1, 2, 9)))):
            made[name] = replace(made[name], rules=(*made[name].rules, rule))
    return made


def _made(
    cluster: Cluster, request: Request, others: Sequence[Holding], seen: Mapping[str, Neighbour]
) -> tuple[Cluster, Request]:
    root = request.root.mapped(lambda pods: replace(pods, neighbour=seen[pods.name]))
    mine = [
        Holding(request.name, node, pods.resources, count, pods.host_ports, pods.neighbour)
        for pods in root.pod_sets()
        for node, count in Counter(pods.bound).items()
    ]
    return replace(cluster, holdings=(*others, *mine)), replace(request, root=root)


def _kept(cluster: Cluster, request: Request, planted: Mapping[str, Sequence[str]]) -> bool:
    spread = {
        pods.name: Counter(planted.get(pods.name, ())) - Counter(pods.bound)
        for pods in request.root.pod_sets()
    }
    return next(broken_neighbours(Scene.of(cluster, request), spread), None) is None


def _neighbour(rng: Random) -> Neighbour:
    return Neighbour(rng.choice(("default", "default", "test")), (("app", rng.choice(_APPS)),))


def _rule(rng: Random, keys: Sequence[str], *, apart: bool = False, preferred: bool = False) -> PodRule:
    namespaces = rng.choice((None, None, frozenset(["default"]), frozenset(["test"])))
    operator = rng.choice((Operator.IN, Operator.IN, Operator.IN, Operator.NOT_IN, Operator.EXISTS))
    values = () if operator is Operator.EXISTS else tuple(rng.sample(_APPS, rng.choice((1, 1, 2))))
    selector = PodSelector(namespaces, (Requirement("app", operator, values),))
    if rng.random() < 0.1:
        selector = PodSelector(namespaces)
    weight = None if rng.random() < 0.9 and not preferred else rng.randint(1, 100)
    kind = 0.0 if apart else rng.random()
    if kind < 0.45:
        return Apart(rng.choice((HOSTNAME, *keys)), selector, None if apart else weight)
    if kind < 0.7:
        return Near(
            tuple(rng.sample(list(keys), rng.choice((1, 1, 1, 2)) if weight is None else 1)), selector, weight
        )
    return Spread(
        rng.choice(keys),
        selector,
        rng.choice((1, 1, 1, 2, 3)),
        rng.choice((None, None, None, 2, 4)),
        heeds_filter=rng.random() < 0.7,
        heeds_taints=rng.random() < 0.3,
        required=weight is None,
    )
