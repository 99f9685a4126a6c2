"""Rules of pools and backends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import core, hub, osmo, wire
from tests.kit.common_problems import described, not_found, unknown_field, wrong_type
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kit import reported
from tests.unit.dialects.osmo.kit import each, pool, workflow


def keys(*pairs: tuple[str, str], **fields: Any) -> str:
    listed = [{"key": key, "label": label} for key, label in pairs]
    return json.dumps({"name": "p", "topology_keys": listed, **fields})


def backend(scheduler: str, name: str = "b") -> str:
    return json.dumps({"name": name, "scheduler_settings": {"scheduler_type": scheduler}})


def keys_not_supported(where: str, scheduler: str) -> Finding:
    """Pool p has topology keys, and the scheduler of its backend b does not support them."""
    return finding(
        osmo.KEYS_NOT_SUPPORTED, where, pool="p", backend="b", scheduler=scheduler, supporting=("kai",)
    )


def taken(where: str, what: str, value: str) -> Finding:
    """The first topology key has this key or label already."""
    return finding(osmo.KEY_TWICE, where, value=value, what=what, field=Field(("topology_keys", 0)))


def negative_share(where: str) -> Finding:
    """Minus two is neither a share nor minus one, which stands for no limit."""
    return finding(osmo.NEGATIVE_SHARE, where, value=-2, allowed="zero or more, or -1 for no limit")


def has_problems(where: str, kind: str, name: str) -> Finding:
    return finding(core.HAS_PROBLEMS, where, kind=kind, name=name)


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param([keys(("zone", "t/zone"), ("rack", "t/rack"))], [], id="a pool with two keys"),
        pytest.param([keys()], [], id="an empty list of keys turns topology-aware scheduling off"),
        pytest.param(
            [backend("default"), keys(("rack", "t/rack"), backend="b")],
            [keys_not_supported("2:topology_keys", "default")],
            id="keys are refused for a scheduler that does not support them",
            marks=pytest.mark.requirement("O9", "O10"),
        ),
        pytest.param(
            [backend("default"), keys(backend="b")],
            [],
            id="no keys are fine with any scheduler",
            marks=pytest.mark.requirement("O10"),
        ),
        pytest.param(
            [backend("kai"), keys(("rack", "t/rack"), backend="B")],
            [],
            id="keys are fine with KAI",
            marks=pytest.mark.requirement("O8"),
        ),
        pytest.param(
            [backend("kai", "east"), keys(("rack", "t/rack"), backend="esat")],
            [not_found("2:backend", "backend", "esat", "east")],
            id="a backend that is missing is named with the nearest one",
        ),
        pytest.param(
            [backend("kai", "east"), keys(("rack", "t/rack"))],
            [finding(osmo.NO_BACKEND_NAMED, "2:backend", remedy=OneOf.among("", ["east"]))],
            id="a pool must say which backend is its own where there are some",
        ),
        pytest.param(
            ['{"name": "b", "k8s_namespace": "a--B", "scheduler_settings": {}}'],
            [finding(osmo.NOT_A_NAMESPACE, "1:k8s_namespace", namespace="a--B", most=63)],
            id="a backend's namespace is one that Kubernetes allows",
        ),
        pytest.param(
            ['{"name": "b", "scheduler_settings": 5}', keys(("rack", "t/rack"), backend="b")],
            [
                wrong_type("1:scheduler_settings", 5, dict),
                has_problems("2:backend", "Backend", "b"),
            ],
            id="a backend that cannot be read is no reason to assume another",
        ),
        pytest.param(
            ['{"name": "b", "scheduler_settings": {"scheduler_typ": "x"}}', keys(("a", "b"), backend="b")],
            [
                unknown_field(
                    "1:scheduler_settings.scheduler_typ",
                    "scheduler_name",
                    "scheduler_timeout",
                    "scheduler_type",
                ),
                has_problems("2:backend", "Backend", "b"),
            ],
            id="a backend with a misspelt field is not taken to have KAI",
        ),
        pytest.param(
            [keys(("rack", "t/a"), ("rack", "t/b"))],
            [taken("1:topology_keys[1].key", "key", "rack")],
            id="a key can stand for one label only",
        ),
        pytest.param(
            [keys(("a", "t/rack"), ("b", "t/rack"))],
            [taken("1:topology_keys[1].label", "label", "t/rack")],
            id="a label can be one level only",
        ),
        pytest.param(
            [keys(("rack", "zone"), ("zone", "t/zone"))],
            [
                finding(
                    osmo.KEY_IS_A_LABEL,
                    "1:topology_keys[1].key",
                    key="zone",
                    field=Field(("topology_keys", 0)),
                )
            ],
            id="a key that is the label of another level would be read as that one",
        ),
        pytest.param([keys(("zone", "zone"))], [], id="a key may be called as its own label"),
        pytest.param(
            [keys(("", "t/a"), ("b", "t//b"), ("c", "-"))],
            [
                finding(osmo.NOT_A_KEY, "1:topology_keys[0].key", value=""),
                finding(osmo.NOT_A_KEY, "1:topology_keys[1].label", value="t//b"),
                finding(osmo.NOT_A_KEY, "1:topology_keys[2].label", value="-"),
            ],
            id="keys and labels must be such as Kubernetes allows, and all mistakes are told at once",
        ),
        pytest.param(
            [keys(("host", "kubernetes.io/hostname"), ("rack", "t/rack"))],
            [finding(osmo.HOSTNAME_NOT_LAST, "1:topology_keys[0].label", label="kubernetes.io/hostname")],
            id="hosts can only be the last level",
            marks=pytest.mark.requirement("O17"),
        ),
        pytest.param(
            [keys(*((f"k{i}", f"t/l{i}") for i in range(17)))],
            [finding(osmo.TOO_MANY_KEYS, "1:topology_keys", count=17, most=16)],
            id="more levels than KAI takes",
        ),
        pytest.param(
            [
                json.dumps(
                    {
                        "node_sets": [
                            {"pools": [json.loads(keys(("a", "t/a")))]},
                            {
                                "pools": [
                                    {**json.loads(keys(("b", "-"))), "name": "q", "resource_usage": {}},
                                    {},
                                ]
                            },
                        ],
                        "resource_sum": {},
                    }
                )
            ],
            [finding(osmo.NOT_A_KEY, "1:node_sets[1].pools[0].topology_keys[0].label", value="-")],
            id="pools as the server lists them with their quota",
        ),
        pytest.param(
            ["pools:\n  p: {backend: b, topology_keys: [{key: a, lable: x}]}\n  q: {}\nbackends: {}\n"],
            [
                unknown_field("1:pools.p.topology_keys[0].lable", "key", "label"),
                finding(wire.MISSING_FIELD, "1:pools.p.topology_keys[0].label"),
            ],
            id="pools by their names",
        ),
        pytest.param(
            [
                "services:\n  configs:\n    pools:\n      p: {backend: b, topology_keys: [{key: a, label: t/a}]}\n"
                "    backends:\n      b: {scheduler_settings: {scheduler_type: x}}\n"
            ],
            [keys_not_supported("1:services.configs.pools.p.topology_keys", "x")],
            id="pools and backends in the values of an installation",
        ),
        pytest.param(
            ["pools: 5\n"],
            [finding(wire.UNTYPED_OBJECT, "1:apiVersion", field="apiVersion", example="v1")],
            id="what only looks like pools",
        ),
        pytest.param(
            ['{"name": "p", "topology_keys": ["rack"]}'],
            [wrong_type("1:topology_keys[0]", "rack", dict)],
            id="keys are objects, not words",
        ),
        pytest.param(
            ['{"name": "p", "topology_keys": [{"key": "rack", "lable": "t/rack"}]}'],
            [
                unknown_field("1:topology_keys[0].lable", "key", "label"),
                finding(wire.MISSING_FIELD, "1:topology_keys[0].label"),
            ],
            id="a misspelt field is named with the nearest one",
            marks=pytest.mark.requirement("O16"),
        ),
        pytest.param(
            [keys(platforms={"a100": {"tolerations": [{"key": "x", "operator": "Exits"}]}})],
            [
                finding(
                    core.UNKNOWN_CHOICE,
                    "1:platforms.a100.tolerations[0].operator",
                    value="Exits",
                    remedy=OneOf.among("Exits", ["Equal", "Exists"]),
                )
            ],
            id="a platform's tolerations are checked as those of a pod",
        ),
        pytest.param(
            [keys(platforms={"h100": {}}, default_platform="h10")],
            [
                finding(
                    osmo.UNKNOWN_DEFAULT_PLATFORM,
                    "1:default_platform",
                    platform="h10",
                    remedy=OneOf.among("h10", ["h100"]),
                )
            ],
            id="the default platform is one of the pool's",
        ),
        pytest.param(
            [keys(resources={"gpu": {"guarantee": -2, "maximum": -1, "weight": -1}})],
            [
                negative_share("1:resources.gpu.guarantee"),
                finding(osmo.NEGATIVE_SHARE, "1:resources.gpu.weight", value=-1, allowed="zero or more"),
            ],
            id="a pool's share of GPUs is not negative",
        ),
        pytest.param(
            [keys(common_default_variables={"USER_GPU": -1, "USER_MEMORY": {"a": 1}, "OTHER": []})],
            [
                finding(hub.NEGATIVE, "1:common_default_variables.USER_GPU", value=-1),
                finding(
                    osmo.DEFAULT_NOT_A_QUANTITY, "1:common_default_variables.USER_MEMORY", found=described({})
                ),
            ],
            id="defaults are quantities; other variables are of no concern",
        ),
        pytest.param(
            [
                "{apiVersion: osmo.closeknit.dev/v1alpha1, kind: Pool, metadata: {name: p},"
                " spec: {name: q, topology_keys: [{key: a, label: '-'}]}}"
            ],
            [
                finding(osmo.NOT_A_KEY, "1:spec.topology_keys[0].label", value="-"),
                finding(osmo.TWO_NAMES, "1:spec.name", name="q", outside="p"),
            ],
            id="in an object the paths begin with spec, and both names must agree",
        ),
        pytest.param(
            [
                "configuration:\n  pools:\n    p: {backend: b, resources: {gpu: {guarantee: '8', maximum: '-2', weight: x}}}\n"
                "  backends:\n    b: {scheduler_settings: {scheduler_type: kai}}\n"
            ],
            [
                negative_share("1:configuration.pools.p.resources.gpu.maximum"),
                wrong_type("1:configuration.pools.p.resources.gpu.weight", "x", int),
            ],
            id="pools and backends of the chart, and a share in quotes",
        ),
    ],
)
def test_pools(texts: list[str], want: list[Finding]) -> None:
    assert reported(*texts) == want


def test_a_pool_without_a_name_is_called_default() -> None:
    assert reported('{"topology_keys": [{"key": "rack", "label": "t/r"}]}', each({"a": ["rack=r"]})) == []


def test_a_pool_with_problems_is_told_once_and_not_searched_for_keys() -> None:
    assert reported(keys(("rack", "-")), each({"a": ["rack=r", "zone=z"]})) == [
        finding(osmo.NOT_A_KEY, "1:topology_keys[0].label", value="-"),
        has_problems("2:workflow.pool", "Pool", "p"),
    ]


def test_an_invalid_name_of_a_pool_or_backend_hides_nothing() -> None:
    cluster = {"name": "b c", "k8s_namespace": "A", "scheduler_settings": {}}
    texts = (json.dumps(cluster), pool("a b", ["rack", "rack"], backend="b c"), workflow(["a"], pool="a b"))

    assert reported(*texts) == [
        finding(wire.INVALID_NAME, "1:name", name="b c"),
        finding(osmo.NOT_A_NAMESPACE, "1:k8s_namespace", namespace="A", most=63),
        finding(wire.INVALID_NAME, "2:name", name="a b"),
        taken("2:topology_keys[1].key", "key", "rack"),
        taken("2:topology_keys[1].label", "label", "t/rack"),
        has_problems("2:backend", "Backend", "b c"),
        has_problems("3:workflow.pool", "Pool", "a b"),
    ]
