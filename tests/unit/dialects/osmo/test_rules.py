"""Every rule for pools and workflows, with the exact path and sentence that their authors read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kit import problems, reading
from tests.unit.dialects.osmo.kit import each, near, pool, workflow


def keys(*pairs: tuple[str, str], **fields: Any) -> str:
    listed = [{"key": key, "label": label} for key, label in pairs]
    return json.dumps({"name": "p", "topology_keys": listed, **fields})


def backend(scheduler: str, name: str = "b") -> str:
    return json.dumps({"name": name, "scheduler_settings": {"scheduler_type": scheduler}})


SUFFIXES = " (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei)"
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
        ),
        pytest.param([backend("default"), keys(backend="b")], [], id="no keys are fine with any scheduler"),
        pytest.param(
            [backend("kai"), keys(("rack", "t/rack"), backend="B")], [], id="keys are fine with KAI"
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
    ],
)
def test_pools(texts: list[str], want: list[str]) -> None:
    assert problems(*texts) == want


def spec(**fields: Any) -> str:
    return json.dumps({"workflow": {"name": "w", **fields}})


TASK = {"name": "a"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            workflow(["a"], {"default": near("rakc=r")}),
            [
                '2:workflow.resources.default.topology[0].key: Topology key "rakc" in resource "default" is not available'
                ' in pool "p". Did you mean "rack"? Allowed: "rack", "spine", "zone".'
            ],
            id="an unknown key is named with the nearest one and all that the pool has",
        ),
        pytest.param(
            workflow(["a"], {"spare": near("block=r")}),
            [
                '2:workflow.resources.spare.topology[0].key: Topology key "block" in resource "spare" is not available'
                ' in pool "p". Allowed: "rack", "spine", "zone".'
            ],
            id="a resource that no task names is checked as well",
        ),
        pytest.param(
            workflow(["a"], {"default": {"topology": [{"key": "rack", "requirementType": "prefered"}]}}),
            [
                '2:workflow.resources.default.topology[0].requirementType: "prefered" is not a type of requirement.'
                ' Did you mean "preferred"? Allowed: "preferred", "required".'
            ],
            id="a requirement is required or preferred",
        ),
        pytest.param(
            workflow(["a"], {"default": near("rack=a", "zone=z", "rack=b")}),
            [
                '2:workflow.resources.default.topology[2].key: Key "rack" stands in'
                " workflow.resources.default.topology[0] as well. A task is in one group of a key; keep one entry."
            ],
            id="a task cannot be in two groups of one key",
        ),
        pytest.param(
            workflow(["a"], {"default": near("rack=")}),
            [
                "2:workflow.resources.default.topology[0].group: The name of the group is empty."
                ' Leave it out to have "default".'
            ],
            id="a group has a name",
        ),
        pytest.param(
            workflow(["a"], {"default": near("rack=" + "x" * 254)}),
            [
                "2:workflow.resources.default.topology[0].group: The name of the group has 254 characters."
                " Allowed are at most 253."
            ],
            id="a group's name has its limit",
        ),
        pytest.param(
            each({"a": ["rack=r"], "b": ["rack~r"]}),
            [
                '2:workflow.resources.b.topology[0].requirementType: Group "r" of key "rack" is preferred here and required'
                " in workflow.resources.a.topology[0]. Write the same in both, or name another group."
            ],
            id="a group cannot be both required and preferred",
        ),
        pytest.param(
            each({"a": ["zone=z1", "rack=r"], "b": ["zone=z2", "rack~r"]}),
            [],
            id="groups of one name below different groups are different groups",
        ),
        pytest.param(
            each({"a": ["zone=z", "rack=r"], "b": ["rack=r"]}),
            [
                '2:workflow.resources.b.topology[0]: Group "r" of key "rack" comes with no coarser key here and with'
                ' key "zone" in workflow.resources.a.topology[1], so it is not clear whether it is one group or two.'
                " Name the same coarser keys in both, or another group."
            ],
            id="a group that has a parent for some tasks and none for others",
        ),
        pytest.param(
            workflow({"a": "gpu"}, {"gpus": {}}),
            [
                '2:workflow.groups[0].tasks[0].resource: There is no resource "gpu".'
                ' Did you mean "gpus"? Allowed: "default", "gpus".'
            ],
            id="a resource that is missing is named with the nearest one",
        ),
        pytest.param(
            workflow(["a"], {"default": {"memory": "8GB", "gpu": -1, "cpu": "x"}}),
            [
                '2:workflow.resources.default.cpu: "x" is not a quantity. Write a number with an optional suffix'
                f"{SUFFIXES}, such as 8, 500m or 1.5Gi.",
                "2:workflow.resources.default.gpu: -1 is negative. Write zero or more.",
                '2:workflow.resources.default.memory: "8GB" is not a quantity. Write a number with an optional suffix'
                f"{SUFFIXES}, such as 8, 500m or 1.5Gi.",
            ],
            id="amounts are quantities, and none is negative",
        ),
        pytest.param(
            workflow(["a"], {"default": {"cpu": 0.5}, "other": {"cpu": "2"}}),
            [
                "2:workflow.resources.default.cpu: 0.5 is not whole. A task asks for whole CPUs; write 1 or more."
            ],
            id="CPUs are counted whole",
        ),
        pytest.param(
            json.dumps({"version": 3, "workflow": {"name": "w", "tasks": [TASK]}}),
            ["2:version: 3 is not a version that is read. Write 2, or leave it out."],
            id="a version of the file that does not exist",
        ),
        pytest.param(
            json.dumps({"version": "2", "workflow": {"name": "w", "tasks": [TASK]}}), [], id="version 2"
        ),
        pytest.param(
            spec(tasks=[{"name": "a", "args": [1, True, ["x"]], "environment": {"A/b": {}, "C": True}}]),
            [
                "2:workflow.tasks[0].args[1]: Found true, a truth value, where a string is expected.",
                "2:workflow.tasks[0].args[2]: Found a list where a string is expected.",
                '2:workflow.tasks[0].environment["A/b"]: Found a mapping where a string is expected.',
            ],
            id="what is run is words",
        ),
        pytest.param(
            workflow(["a"], {"default": {"gpu": -1}, "other": {"gpu": -1}}),
            [
                f"2:workflow.resources.{name}.gpu: -1 is negative. Write zero or more."
                for name in ("default", "other")
            ],
            id="a mistake that stands twice is told twice",
        ),
        pytest.param(
            spec(
                topology=[],
                groups=[{"name": "g", "resources": {}, "tasks": [{**TASK, "gpu": 8, "topology": []}]}],
            ),
            [
                f'2:workflow.{path}: There is no field "{path.rpartition(".")[2]}" here. What a task asks for stands in'
                " workflow.resources under a name, and the task names it in its field resource."
                for path in (
                    "topology",
                    "groups[0].resources",
                    "groups[0].tasks[0].gpu",
                    "groups[0].tasks[0].topology",
                )
            ],
            id="what a task asks for, in the wrong place",
        ),
        pytest.param(
            workflow(["a"], {"default": {"gpu": "{{gpus}}"}}),
            [
                '2:workflow.resources.default.gpu: Found "{{gpus}}", a string, where a whole number is expected.'
                " It looks like a template. Fill it in first."
            ],
            id="a template that was not filled in",
        ),
        pytest.param(
            workflow(["a"], {"default": {"topologies": []}}),
            [
                '2:workflow.resources.default.topologies: There is no field "topologies" here. Did you mean "topology"?'
            ],
            id="a misspelt field of a resource",
        ),
        pytest.param(
            json.dumps(
                {
                    "workflow": {"name": "w", "tasks": [TASK], "resources": {"default": {}}},
                    "resources": {"default": {}},
                }
            ),
            [
                '2:resources.default: Resource "default" stands in workflow.resources as well. Keep one of the two.'
            ],
            id="a resource stands in one of the two places",
        ),
        pytest.param(
            spec(tasks=[TASK], pool="q"),
            ['2:workflow.pool: There is no pool "q". Allowed: "p".'],
            id="a pool that is missing",
        ),
        pytest.param(
            spec(),
            ["2:workflow.groups: A workflow needs at least one group, or one task."],
            id="a workflow without tasks",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": []}]),
            ['2:workflow.groups[0].tasks: Group "g" needs at least one task.'],
            id="a group without tasks",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": [{"name": "b"}]}], tasks=[TASK]),
            ["2:workflow.tasks: This stands beside groups. Put the tasks into a group, or write tasks only."],
            id="groups and tasks exclude each other",
        ),
        pytest.param(
            spec(groups=[{"name": "A_b", "tasks": [{"name": "a-B"}, {"name": "c"}, {"name": "c"}]}]),
            [
                '2:workflow.groups[0].tasks[0].name: "a-B" is already the name of workflow.groups[0].'
                ' Give each its own; capitals do not count, and "_" is the same as "-".',
                '2:workflow.groups[0].tasks[2].name: "c" is already the name of workflow.groups[0].tasks[1].'
                ' Give each its own; capitals do not count, and "_" is the same as "-".',
            ],
            id="groups and tasks have names of their own",
        ),
        pytest.param(
            spec(tasks=[{"name": "1st"}]),
            [
                "2:workflow.tasks[0].name: \"1st\" is not a valid name. Allowed are letters, digits, '-' and '_', with a"
                " letter at the start and a letter or digit at the end."
            ],
            id="names are such as OSMO allows",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": [{"name": n, "lead": True} for n in "abc"]}]),
            [
                f'2:workflow.groups[0].tasks[{i}].lead: workflow.groups[0].tasks[0] leads group "g" already.'
                " A group has one lead."
                for i in (1, 2)
            ],
            id="a group has one lead",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": [TASK, {"name": "b", "lead": True}]}]), [], id="a lead"
        ),
    ],
)
def test_workflows(text: str, want: list[str]) -> None:
    assert problems(pool(), text) == want


def test_keys_are_refused_where_the_pool_has_none() -> None:
    assert problems(pool(keys=()), each({"a": ["rack=r"]})) == [
        '2:workflow.resources.a.topology[0].key: Topology key "rack" in resource "a" is not available in pool "p",'
        " which has no topology keys. Remove it, or choose a pool that has some."
    ]


def test_a_workflow_with_topology_keys_needs_a_pool() -> None:
    assert problems(each({"a": ["rack=r"]})) == [
        "1:workflow.pool: The workflow names topology keys, so it must name the pool that defines them."
        " None is given; add it, or name none."
    ]


def test_of_several_pools_one_must_be_named() -> None:
    found = problems(pool("p"), pool("q"), each({"a": ["rack=r"]}))

    assert found == [
        "3:workflow.pool: The workflow names topology keys, so it must name the pool that defines them."
        ' Allowed: "p", "q".'
    ]


def test_of_several_pools_one_must_be_named_even_without_keys() -> None:
    assert problems(pool("p"), pool("q"), workflow(["a"])) == [
        '3:workflow.pool: There are 2 pools, so the workflow must name one of them. Allowed: "p", "q".'
    ]


def test_of_several_pools_the_one_called_default_is_taken() -> None:
    assert problems(pool("p"), pool("default"), each({"a": ["rack=r"]})) == []


def test_a_pool_without_a_name_is_called_default() -> None:
    assert problems('{"topology_keys": [{"key": "rack", "label": "t/r"}]}', each({"a": ["rack=r"]})) == []


def test_a_workflow_without_topology_keys_needs_no_pool() -> None:
    assert problems(workflow(["a", "b"])) == []


def test_a_pool_with_problems_is_told_once_and_not_searched_for_keys() -> None:
    assert problems(keys(("rack", "-")), each({"a": ["rack=r", "zone=z"]})) == [
        f'1:topology_keys[0].label: "-" {LABEL}',
        '2:workflow.pool: Pool "p" has problems of its own. Correct them first.',
    ]


def test_a_platform_must_be_one_of_the_pool() -> None:
    platforms = {"a100": {"labels": {"gpu": "a100"}}}

    assert problems(pool(platforms=platforms), workflow(["a"], {"default": {"platform": "a10"}})) == [
        '2:workflow.resources.default.platform: Pool "p" has no platform "a10". Did you mean "a100"? Allowed: "a100".'
    ]


def test_an_invalid_workflow_is_a_workload_with_its_problems() -> None:
    (workload,) = reading(pool(), workflow(["a"], {"default": near("x=r")})).workloads

    assert workload.request is None
    assert [problem.path for problem in workload.problems] == ["workflow.resources.default.topology[0].key"]


NAME = (
    "is not a valid name. Allowed are letters, digits, '-' and '_', with a letter at the start and a letter or"
    " digit at the end."
)


def test_an_invalid_name_of_a_workflow_hides_nothing() -> None:
    topology = [{"key": "rack"}, {"key": "rack", "group": "", "requirementType": "Required"}]
    text = spec(
        name="a b",
        tasks=[{"name": "b c", "resource": "nope"}],
        resources={"default": {"cpu": -1, "topology": topology}},
    )
    path = "2:workflow.resources.default"

    assert problems(pool(), text) == [
        f'2:workflow.name: "a b" {NAME}',
        f'2:workflow.tasks[0].name: "b c" {NAME}',
        f"{path}.cpu: -1 is negative. Write zero or more.",
        f'{path}.topology[1].requirementType: "Required" is not a type of requirement. Did you mean "required"?'
        ' Allowed: "preferred", "required".',
        f'{path}.topology[1].group: The name of the group is empty. Leave it out to have "default".',
        f'{path}.topology[1].key: Key "rack" stands in workflow.resources.default.topology[0] as well.'
        " A task is in one group of a key; keep one entry.",
        '2:workflow.tasks[0].resource: There is no resource "nope". Allowed: "default".',
    ]


@pytest.mark.parametrize("name", ["a.b", "", "ä", "1", "-"])
def test_the_name_of_a_workflow_follows_the_rule_of_osmo_alone(name: str) -> None:
    assert problems(pool(), spec(name=name, tasks=[TASK])) == [f'2:workflow.name: "{name}" {NAME}']


def test_the_name_of_a_workflow_has_its_limit() -> None:
    assert problems(pool(), spec(name="a" * 253, tasks=[TASK])) == []
    assert problems(pool(), spec(name="a" * 254, tasks=[TASK])) == [
        "2:workflow.name: The name has 254 characters. Allowed are at most 253."
    ]


def test_a_resource_that_stands_twice_is_checked_in_both_places() -> None:
    inside = {"a": near("rack=r"), "b": near("rack=r")}
    beside = {"b": {**near("rack~r"), "cpu": 1.5}}
    group = {"name": "g", "tasks": [{"name": name, "resource": name} for name in "ab"]}
    text = json.dumps(
        {"workflow": {"name": "w", "groups": [group], "resources": inside}, "resources": beside}
    )

    assert problems(pool(), text) == [
        '2:resources.b: Resource "b" stands in workflow.resources as well. Keep one of the two.',
        "2:resources.b.cpu: 1.5 is not whole. A task asks for whole CPUs; write 1 or more.",
        '2:resources.b.topology[0].requirementType: Group "r" of key "rack" is preferred here and required'
        " in workflow.resources.a.topology[0]. Write the same in both, or name another group.",
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
