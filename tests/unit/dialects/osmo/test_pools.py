"""Rules of pools and backends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kit import problems
from tests.unit.dialects.osmo.kit import each, pool, workflow


def keys(*pairs: tuple[str, str], **fields: Any) -> str:
    listed = [{"key": key, "label": label} for key, label in pairs]
    return json.dumps({"name": "p", "topology_keys": listed, **fields})


def backend(scheduler: str, name: str = "b") -> str:
    return json.dumps({"name": name, "scheduler_settings": {"scheduler_type": scheduler}})


LABEL = (
    "is not possible. Write at most 63 letters, digits, '-', '_' and '.', such as rack, with an optional domain"
    " before a slash, such as example.com/rack."
)


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param([keys(("zone", "t/zone"), ("rack", "t/rack"))], [], id="a pool with two keys"),
        pytest.param([keys()], [], id="an empty list of keys turns topology-aware scheduling off"),
        pytest.param(
            [backend("default"), keys(("rack", "t/rack"), backend="b")],
            [
                '2:topology_keys: Topology keys cannot be set for pool "p": the scheduler of its backend "b" is "default",'
                ' which does not support them. Empty the list, or choose a backend with "kai".'
            ],
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
            ['2:backend: There is no backend "esat". Did you mean "east"? Allowed: "east".'],
            id="a backend that is missing is named with the nearest one",
        ),
        pytest.param(
            [backend("kai", "east"), keys(("rack", "t/rack"))],
            ['2:backend: The pool names no backend. Allowed: "east".'],
            id="a pool must say which backend is its own where there are some",
        ),
        pytest.param(
            ['{"name": "b", "k8s_namespace": "a--B", "scheduler_settings": {}}'],
            [
                '1:k8s_namespace: "a--B" is not a namespace. Allowed are at most 63 lower-case letters, digits and'
                " dashes, with a letter or digit at both ends."
            ],
            id="a backend's namespace is one that Kubernetes allows",
        ),
        pytest.param(
            ['{"name": "b", "scheduler_settings": 5}', keys(("rack", "t/rack"), backend="b")],
            [
                "1:scheduler_settings: Found 5, a number, where a mapping is expected.",
                '2:backend: Backend "b" has problems of its own. Correct them first.',
            ],
            id="a backend that cannot be read is no reason to assume another",
        ),
        pytest.param(
            ['{"name": "b", "scheduler_settings": {"scheduler_typ": "x"}}', keys(("a", "b"), backend="b")],
            [
                '1:scheduler_settings.scheduler_typ: There is no field "scheduler_typ" here.'
                ' Did you mean "scheduler_type"?',
                '2:backend: Backend "b" has problems of its own. Correct them first.',
            ],
            id="a backend with a misspelt field is not taken to have KAI",
        ),
        pytest.param(
            [keys(("rack", "t/a"), ("rack", "t/b"))],
            ['1:topology_keys[1].key: "rack" is already the key of topology_keys[0]. Each has its own.'],
            id="a key can stand for one label only",
        ),
        pytest.param(
            [keys(("a", "t/rack"), ("b", "t/rack"))],
            [
                '1:topology_keys[1].label: "t/rack" is already the label of topology_keys[0]. Each has its own.'
            ],
            id="a label can be one level only",
        ),
        pytest.param(
            [keys(("rack", "zone"), ("zone", "t/zone"))],
            ['1:topology_keys[1].key: "zone" is the label of topology_keys[0]. Choose another word.'],
            id="a key that is the label of another level would be read as that one",
        ),
        pytest.param([keys(("zone", "zone"))], [], id="a key may be called as its own label"),
        pytest.param(
            [keys(("", "t/a"), ("b", "t//b"), ("c", "-"))],
            [
                f'1:topology_keys[0].key: "" {LABEL}',
                f'1:topology_keys[1].label: "t//b" {LABEL}',
                f'1:topology_keys[2].label: "-" {LABEL}',
            ],
            id="keys and labels must be such as Kubernetes allows, and all mistakes are told at once",
        ),
        pytest.param(
            [keys(("host", "kubernetes.io/hostname"), ("rack", "t/rack"))],
            [
                '1:topology_keys[0].label: "kubernetes.io/hostname" is the finest there is. Move it to the end:'
                " keys go from coarse to fine."
            ],
            id="hosts can only be the last level",
            marks=pytest.mark.requirement("O17"),
        ),
        pytest.param(
            [keys(*((f"k{i}", f"t/l{i}") for i in range(17)))],
            ["1:topology_keys: There are 17 keys. Allowed are at most 16."],
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
            [f'1:node_sets[1].pools[0].topology_keys[0].label: "-" {LABEL}'],
            id="pools as the server lists them with their quota",
        ),
        pytest.param(
            ["pools:\n  p: {backend: b, topology_keys: [{key: a, lable: x}]}\n  q: {}\nbackends: {}\n"],
            [
                '1:pools.p.topology_keys[0].lable: There is no field "lable" here. Did you mean "label"?',
                "1:pools.p.topology_keys[0].label: This field is missing.",
            ],
            id="pools by their names",
        ),
        pytest.param(
            [
                "services:\n  configs:\n    pools:\n      p: {backend: b, topology_keys: [{key: a, label: t/a}]}\n"
                "    backends:\n      b: {scheduler_settings: {scheduler_type: x}}\n"
            ],
            [
                '1:services.configs.pools.p.topology_keys: Topology keys cannot be set for pool "p": the scheduler of its'
                ' backend "b" is "x", which does not support them. Empty the list, or choose a backend with "kai".'
            ],
            id="pools and backends in the values of an installation",
        ),
        pytest.param(
            ["pools: 5\n"],
            ['1:apiVersion: An object needs apiVersion, a string such as "v1".'],
            id="what only looks like pools",
        ),
        pytest.param(
            ['{"name": "p", "topology_keys": ["rack"]}'],
            ['1:topology_keys[0]: Found "rack", a string, where a mapping is expected.'],
            id="keys are objects, not words",
        ),
        pytest.param(
            ['{"name": "p", "topology_keys": [{"key": "rack", "lable": "t/rack"}]}'],
            [
                '1:topology_keys[0].lable: There is no field "lable" here. Did you mean "label"?',
                "1:topology_keys[0].label: This field is missing.",
            ],
            id="a misspelt field is named with the nearest one",
            marks=pytest.mark.requirement("O16"),
        ),
        pytest.param(
            [keys(platforms={"a100": {"tolerations": [{"key": "x", "operator": "Exits"}]}})],
            [
                '1:platforms.a100.tolerations[0].operator: "Exits" is not known. Did you mean "Exists"?'
                ' Allowed: "Equal", "Exists".'
            ],
            id="a platform's tolerations are checked as those of a pod",
        ),
        pytest.param(
            [keys(platforms={"h100": {}}, default_platform="h10")],
            [
                '1:default_platform: There is no platform "h10" in this pool. Did you mean "h100"? Allowed: "h100".'
            ],
            id="the default platform is one of the pool's",
        ),
        pytest.param(
            [keys(resources={"gpu": {"guarantee": -2, "maximum": -1, "weight": -1}})],
            [
                "1:resources.gpu.guarantee: -2 is negative. Write zero or more, or -1 for no limit.",
                "1:resources.gpu.weight: -1 is negative. Write zero or more.",
            ],
            id="a pool's share of GPUs is not negative",
        ),
        pytest.param(
            [keys(common_default_variables={"USER_GPU": -1, "USER_MEMORY": {"a": 1}, "OTHER": []})],
            [
                "1:common_default_variables.USER_GPU: -1 is negative. Write zero or more.",
                "1:common_default_variables.USER_MEMORY: Found a mapping where a quantity is expected."
                " Write 8 or 1.5Gi.",
            ],
            id="defaults are quantities; other variables are of no concern",
        ),
        pytest.param(
            [
                "{apiVersion: osmo.closeknit.dev/v1alpha1, kind: Pool, metadata: {name: p},"
                " spec: {name: q, topology_keys: [{key: a, label: '-'}]}}"
            ],
            [
                f'1:spec.topology_keys[0].label: "-" {LABEL}',
                '1:spec.name: "q" is not "p", which metadata.name says. Leave it out, or write the same.',
            ],
            id="in an object the paths begin with spec, and both names must agree",
        ),
        pytest.param(
            [
                "configuration:\n  pools:\n    p: {backend: b, resources: {gpu: {guarantee: '8', maximum: '-2', weight: x}}}\n"
                "  backends:\n    b: {scheduler_settings: {scheduler_type: kai}}\n"
            ],
            [
                "1:configuration.pools.p.resources.gpu.maximum: -2 is negative. Write zero or more, or -1 for no limit.",
                '1:configuration.pools.p.resources.gpu.weight: Found "x", a string, where a whole number is expected.',
            ],
            id="pools and backends of the chart, and a share in quotes",
        ),
    ],
)
def test_pools(texts: list[str], want: list[str]) -> None:
    assert problems(*texts) == want


def test_a_pool_without_a_name_is_called_default() -> None:
    assert problems('{"topology_keys": [{"key": "rack", "label": "t/r"}]}', each({"a": ["rack=r"]})) == []


def test_a_pool_with_problems_is_told_once_and_not_searched_for_keys() -> None:
    assert problems(keys(("rack", "-")), each({"a": ["rack=r", "zone=z"]})) == [
        f'1:topology_keys[0].label: "-" {LABEL}',
        '2:workflow.pool: Pool "p" has problems of its own. Correct them first.',
    ]


def test_an_invalid_name_of_a_pool_or_backend_hides_nothing() -> None:
    name = (
        "is not a valid name. Allowed are at most 253 lower-case letters, digits, dashes and dots, with a letter"
        " or digit at both ends of each part."
    )
    cluster = {"name": "b c", "k8s_namespace": "A", "scheduler_settings": {}}
    texts = (json.dumps(cluster), pool("a b", ["rack", "rack"], backend="b c"), workflow(["a"], pool="a b"))

    assert problems(*texts) == [
        f'1:name: "b c" {name}',
        '1:k8s_namespace: "A" is not a namespace. Allowed are at most 63 lower-case letters, digits and dashes,'
        " with a letter or digit at both ends.",
        f'2:name: "a b" {name}',
        '2:topology_keys[1].key: "rack" is already the key of topology_keys[0]. Each has its own.',
        '2:topology_keys[1].label: "t/rack" is already the label of topology_keys[0]. Each has its own.',
        '2:backend: Backend "b c" has problems of its own. Correct them first.',
        '3:workflow.pool: Pool "a b" has problems of its own. Correct them first.',
    ]
