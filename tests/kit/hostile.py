"""Objects by which a tenant would harm others, if it could: costly, huge, cyclic, forged, and oddly named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

Json = dict[str, Any]
NAMESPACE: Final = "evil"
ODD: Final = "\x1b[31m<script>alert(1)</script>\u202e{{7*7}}%s\x00".replace("\x00", "")
"""Escapes for terminals, pages and templates."""
_GPU: Final = "nvidia.com/gpu"


def _metadata(name: str, **more: Any) -> Json:
    return {"name": name, "namespace": NAMESPACE, **more}


def _pod(name: str, *, metadata: Json | None = None, **spec: Any) -> Json:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(name, **(metadata or {})),
        "spec": {"schedulerName": "closeknit", "containers": [container], **spec},
    }


def _numbers(count: int) -> str:
    return str(list(range(count)))


def _expression(rng: Random) -> str:
    count, text = rng.randint(50, 120), "x" * rng.randint(100, 3000)
    return rng.choice(
        [
            f"{_numbers(count)}.all(a, {_numbers(count)}.all(b, a+b >= {rng.randint(0, 9)}))",
            f"{_numbers(90)}.all(a, {_numbers(90)}.all(b, '{text}'.replace('x', '{text}').size() > {count}))",
            "cel.bind(a0, 'aaaaaaaa', "
            + "".join(f"cel.bind(a{i + 1}, a{i}+a{i}, " for i in range(25))
            + f"a25.size() == {count}"
            + ")" * 26,
            "(" * count + "true" + ")" * count,
            f"'{text}'.matches('^({'x+' * 20})+$')",
            f"device.attributes['a'].{'b.' * 20}c == {count}",
            f"{_numbers(60)}.map(a, {_numbers(60)}.map(b, quantity('{count}'))).size() == 1",
            "true || " * 1200 + "true",
            f"semver('{count}.0.0-{'1.' * 500}1').isLessThan(semver('2.0.0'))",
            "device." * count,
        ]
    )


def claims(name: str, rng: Random) -> Iterator[Json]:
    """A claim with a costly selector, and a pod that uses it."""
    request: Json = {
        "name": "main",
        "exactly": {
            "deviceClassName": "gpu",
            "allocationMode": rng.choice(["ExactCount", "All"]),
            **({"count": rng.choice([1, 32])} if rng.random() < 0.5 else {}),
            "selectors": [{"cel": {"expression": _expression(rng)}} for _ in range(rng.randint(1, 3))],
        },
    }
    if request["exactly"]["allocationMode"] == "All":
        request["exactly"].pop("count", None)
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": _metadata(name),
        "spec": {"devices": {"requests": [request]}},
    }
    yield _pod(f"{name}-pod", resourceClaims=[{"name": "device", "resourceClaimName": name}])


def trees(name: str, rng: Random) -> Iterator[Json]:
    """A PodGroup with a tree that is huge, deep, cyclic or inconsistent."""
    count = rng.choice([3, 50, 400])
    shape = rng.choice(["chain", "star", "cycle", "missing", "same"])
    groups: list[Json] = []
    for i in range(count):
        group: Json = {"name": f"g{i if shape != 'same' else 0}", "minMember": rng.choice([0, 1, 2**31 - 1])}
        if shape == "chain" and i:
            group["parent"] = f"g{i - 1}"
        elif shape == "star" and i:
            group["parent"] = "g0"
        elif shape == "cycle":
            group["parent"] = f"g{(i + 1) % count}"
        elif shape == "missing":
            group["parent"] = "nothing"
        groups.append(group)
    yield {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": _metadata(name, annotations={"closeknit.dev/outcome": ODD * 100}),
        "spec": {"minMember": rng.choice([1, 2**31 - 1]), "queue": "team", "subGroups": groups},
    }
    for i in range(3):
        yield _pod(
            f"{name}-{i}",
            metadata={
                "annotations": {"pod-group-name": name},
                "labels": {"kai.scheduler/subgroup-name": f"g{i}"},
            },
        )


def owners(name: str, rng: Random) -> Iterator[Json]:
    """Pods whose owners are each other, themselves, missing, of another namespace, or a sound gang."""
    kind = rng.choice(["Pod", "PodGroup", "Job", "Workflow", "PodCliqueSet", "ReplicaSet"])
    versions = {
        "Pod": "v1",
        "PodGroup": "scheduling.run.ai/v2alpha2",
        "Job": "batch/v1",
        "ReplicaSet": "apps/v1",
    }
    version = versions.get(kind, "grove.io/v1alpha1")
    for i in range(2):
        target = rng.choice([f"{name}-{i}", f"{name}-{1 - i}", "gang-0", ODD])
        owner = {
            "apiVersion": version,
            "kind": kind,
            "name": target,
            "uid": f"{name}-{1 - i}",
            "controller": True,
        }
        annotations = {
            "pod-group-name": rng.choice(["gang-0", name, ODD]),
            "kueue.x-k8s.io/workload": "gang-0",
            "huge": ODD * rng.choice([1, 4000]),
        }
        yield _pod(f"{name}-{i}", metadata={"ownerReferences": [owner], "annotations": annotations})


def selectors(name: str, rng: Random) -> Iterator[Json]:
    """Pods with rules about other pods and nodes that have very many terms."""
    values = [f"v{i}" for i in range(rng.choice([1, 500]))]
    expressions = [
        {"key": f"k{i}", "operator": rng.choice(["In", "NotIn"]), "values": values} for i in range(20)
    ]
    selector = {"matchExpressions": expressions, "matchLabels": {f"l{i}": "x" for i in range(50)}}
    terms = [{"labelSelector": selector, "topologyKey": rng.choice(["topology/rack", "none", "a/b"])}] * 20
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    spread = {
        "maxSkew": 2**31 - 1,
        "topologyKey": "topology/rack",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    yield _pod(
        name,
        affinity={
            "podAntiAffinity": {required: terms},
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "podAffinityTerm": each} for each in terms
                ]
            },
            "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": expressions}] * 50}},
        },
        topologySpreadConstraints=[spread],
        tolerations=[{"key": f"t{i}", "operator": "Exists"} for i in range(500)],
    )


def cliques(name: str, rng: Random) -> Iterator[Json]:
    """PodCliqueSets with many cliques that wait for each other."""
    count = rng.choice([2, 20])
    container = {"name": "main", "image": ODD, "resources": {"requests": {"cpu": "1"}}}
    roles = [
        {
            "name": f"c{i}",
            "spec": {
                "roleName": f"c{i}",
                "replicas": rng.choice([1, 2]),
                "startsAfter": [f"c{(i + 1) % count}"],
                "podSpec": {"containers": [container], "schedulerName": "closeknit"},
            },
        }
        for i in range(count)
    ]
    yield {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": _metadata(name),
        "spec": {"replicas": 1, "template": {"cliques": roles, "startupType": "CliqueStartupTypeExplicit"}},
    }


def jobs(name: str, rng: Random) -> Iterator[Json]:
    """Jobs with annotations of Kueue that make no sense."""
    odd = rng.choice([ODD, "-1", str(2**70), "", "topology/rack", "a" * 5000])
    fields = [
        "required-topology",
        "preferred-topology",
        "slice-size",
        "slice-required-topology",
        "group-name",
    ]
    annotations = {f"kueue.x-k8s.io/podset-{each}": odd for each in rng.sample(fields, 2)}
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"requests": {"cpu": rng.choice(["1", "1e3", "999G"])}},
    }
    yield {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(name, labels={"kueue.x-k8s.io/queue-name": rng.choice(["queue", "nothing"])}),
        "spec": {
            "parallelism": rng.choice([1, 1000]),
            "completions": 1000,
            "suspend": True,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"restartPolicy": "Never", "schedulerName": "closeknit", "containers": [container]},
            },
        },
    }


def amounts(name: str, rng: Random) -> Iterator[Json]:
    """Pods that ask for amounts at the edge of what can be counted."""
    amount = rng.choice(["9223372036854775807", "1n", "0", "1e18", "999999999999999999E", "0.000000001"])
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": amount, _GPU: "99999"}}}
    yield _pod(name, containers=[container] * rng.choice([1, 200]), priority=2**31 - 1)


KINDS: Final[tuple[Callable[[str, Random], Iterator[Json]], ...]] = (
    claims,
    trees,
    owners,
    selectors,
    cliques,
    jobs,
    amounts,
)


def hostile_objects(count: int, seed: int) -> list[Json]:
    """So many objects, of all kinds in turn."""
    rng = Random(seed)
    made: list[Json] = []
    number = 0
    while len(made) < count:
        kind = KINDS[number % len(KINDS)]
        made += kind(f"hostile-{kind.__name__}-{number}", rng)
        number += 1
    return made[:count]
