"""Every rule for pools and workflows, with the exact path and sentence that their authors read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kit import problems, reading
from tests.unit.dialects.osmo.kit import each, near, pool, workflow

SUFFIXES = " (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei)"


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
            marks=pytest.mark.requirement("O25"),
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
            marks=pytest.mark.requirement("O19"),
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
            workflow(["a"], {"default": {}}, labels={"team": "robotics", "example.com/run": "r_42"}),
            [],
            id="labels of a workflow",
        ),
        pytest.param(
            workflow(["a"], {"default": {}}, labels={"team": "", **{f"k{i}": "v" for i in range(16)}}),
            [
                "2:workflow.labels: There are 17 labels. Allowed are at most 16.",
                "2:workflow.labels.team: \"\" cannot be the value of a label. Write at most 63 letters, digits, '-',"
                " '_' and '.', with a letter or digit at both ends.",
            ],
            id="too many labels, and an empty one",
        ),
        pytest.param(
            workflow(["a"], {"default": {"topologies": []}}),
            [
                '2:workflow.resources.default.topologies: There is no field "topologies" here. Did you mean "topology"?'
            ],
            id="a misspelt field of a resource",
            marks=pytest.mark.requirement("O21"),
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
@pytest.mark.requirement("O19", "O21", "O25")
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


def test_a_workflow_without_topology_keys_needs_no_pool() -> None:
    assert problems(workflow(["a", "b"])) == []


def test_a_platform_must_be_one_of_the_pool() -> None:
    platforms = {"a100": {"labels": {"gpu": "a100"}}}

    assert problems(pool(platforms=platforms), workflow(["a"], {"default": {"platform": "a10"}})) == [
        '2:workflow.resources.default.platform: Pool "p" has no platform "a10". Did you mean "a100"? Allowed: "a100".'
    ]


def test_an_invalid_workflow_is_a_workload_with_its_problems() -> None:
    (workload,) = reading(pool(), workflow(["a"], {"default": near("x=r")})).workloads

    assert workload.request is None
    assert [problem.where for problem in workload.problems] == ["workflow.resources.default.topology[0].key"]


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
