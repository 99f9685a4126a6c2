"""Every rule for workflows: what breaks it is reported with its code, path and facts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis import osmo_closeknit_dev_v1alpha1 as api
from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import hub, osmo, wire
from closeknit.hub.workload import InvalidWorkload
from tests.kit.common_problems import described, not_found, unknown_field, wrong_type
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kit import reading, reported
from tests.unit.dialects.osmo.kit import each, near, pool, workflow

RESOURCES = "2:workflow.resources"


def spec(**fields: Any) -> str:
    return json.dumps({"workflow": {"name": "w", **fields}})


TASK = {"name": "a"}


def key_not_in_pool(resource: str, key: str) -> Finding:
    return finding(
        osmo.KEY_NOT_IN_POOL,
        f"{RESOURCES}.{resource}.topology[0].key",
        key=key,
        resource=resource,
        pool="p",
        remedy=OneOf.among(key, ["rack", "spine", "zone"]),
    )


def requirement_twice(where: str, key: str, *first: str | int) -> Finding:
    return finding(osmo.REQUIREMENT_TWICE, where, key=key, field=Field(("workflow", "resources", *first)))


def preferred_and_required(where: str, *first: str | int) -> Finding:
    """Group r of key rack is preferred here and required where it is first named."""
    field = Field(("workflow", "resources", *first))
    return finding(
        osmo.TWO_REQUIREMENT_TYPES,
        where,
        group="r",
        key="rack",
        mine="preferred",
        other="required",
        field=field,
    )


def unknown_type(where: str, value: str) -> Finding:
    remedy = OneOf.among(value, ["preferred", "required"])
    return finding(osmo.UNKNOWN_REQUIREMENT_TYPE, where, value=value, remedy=remedy)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            workflow(["a"], {"default": near("rakc=r")}),
            [key_not_in_pool("default", "rakc")],
            id="an unknown key is named with the nearest one and all that the pool has",
            marks=pytest.mark.requirement("O25"),
        ),
        pytest.param(
            workflow(["a"], {"spare": near("block=r")}),
            [key_not_in_pool("spare", "block")],
            id="a resource that no task names is checked as well",
        ),
        pytest.param(
            workflow(["a"], {"default": {"topology": [{"key": "rack", "requirementType": "prefered"}]}}),
            [unknown_type(f"{RESOURCES}.default.topology[0].requirementType", "prefered")],
            id="a requirement is required or preferred",
            marks=pytest.mark.requirement("O19"),
        ),
        pytest.param(
            workflow(["a"], {"default": near("rack=a", "zone=z", "rack=b")}),
            [requirement_twice(f"{RESOURCES}.default.topology[2].key", "rack", "default", "topology", 0)],
            id="a task cannot be in two groups of one key",
        ),
        pytest.param(
            workflow(["a"], {"default": near("rack=")}),
            [finding(osmo.EMPTY_GROUP_NAME, f"{RESOURCES}.default.topology[0].group")],
            id="a group has a name",
        ),
        pytest.param(
            workflow(["a"], {"default": near("rack=" + "x" * 254)}),
            [
                finding(
                    osmo.GROUP_NAME_TOO_LONG,
                    f"{RESOURCES}.default.topology[0].group",
                    length=254,
                    most=253,
                )
            ],
            id="a group's name has its limit",
        ),
        pytest.param(
            each({"a": ["rack=r"], "b": ["rack~r"]}),
            [preferred_and_required(f"{RESOURCES}.b.topology[0].requirementType", "a", "topology", 0)],
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
                finding(
                    osmo.AMBIGUOUS_GROUP,
                    f"{RESOURCES}.b.topology[0]",
                    group="r",
                    key="rack",
                    mine="no coarser key",
                    other='key "zone"',
                    field=Field(("workflow", "resources", "a", "topology", 1)),
                )
            ],
            id="a group that has a parent for some tasks and none for others",
        ),
        pytest.param(
            workflow({"a": "gpu"}, {"gpus": {}}),
            [not_found("2:workflow.groups[0].tasks[0].resource", "resource", "gpu", "default", "gpus")],
            id="a resource that is missing is named with the nearest one",
        ),
        pytest.param(
            workflow(["a"], {"default": {"memory": "8GB", "gpu": -1, "cpu": "x"}}),
            [
                finding(hub.UNKNOWN_SUFFIX, f"{RESOURCES}.default.cpu", value="x"),
                finding(hub.NEGATIVE, f"{RESOURCES}.default.gpu", value=-1),
                finding(hub.UNKNOWN_SUFFIX, f"{RESOURCES}.default.memory", value="8GB"),
            ],
            id="amounts are quantities, and none is negative",
        ),
        pytest.param(
            workflow(["a"], {"default": {"cpu": 0.5}, "other": {"cpu": "2"}}),
            [finding(osmo.FRACTION_OF_CPU, f"{RESOURCES}.default.cpu", value=0.5)],
            id="CPUs are counted whole",
        ),
        pytest.param(
            json.dumps({"version": 3, "workflow": {"name": "w", "tasks": [TASK]}}),
            [finding(osmo.UNKNOWN_FILE_VERSION, "2:version", version="3", known=2)],
            id="a version of the file that does not exist",
        ),
        pytest.param(
            json.dumps({"version": "2", "workflow": {"name": "w", "tasks": [TASK]}}), [], id="version 2"
        ),
        pytest.param(
            spec(tasks=[{"name": "a", "args": [1, True, ["x"]], "environment": {"A/b": {}, "C": True}}]),
            [
                finding(osmo.STRING_EXPECTED, "2:workflow.tasks[0].args[1]", found=described(True)),
                finding(osmo.STRING_EXPECTED, "2:workflow.tasks[0].args[2]", found=described([])),
                finding(osmo.STRING_EXPECTED, '2:workflow.tasks[0].environment["A/b"]', found=described({})),
            ],
            id="what is run is words",
        ),
        pytest.param(
            workflow(["a"], {"default": {"gpu": -1}, "other": {"gpu": -1}}),
            [finding(hub.NEGATIVE, f"{RESOURCES}.{name}.gpu", value=-1) for name in ("default", "other")],
            id="a mistake that stands twice is told twice",
        ),
        pytest.param(
            spec(
                topology=[],
                groups=[{"name": "g", "resources": {}, "tasks": [{**TASK, "gpu": 8, "topology": []}]}],
            ),
            [
                finding(
                    wire.UNKNOWN_FIELD,
                    f"2:workflow.{path}{field}",
                    field=field,
                    remedy=shape.elsewhere[field],
                )
                for path, field, shape in (
                    ("", "topology", api.WorkflowSpec),
                    ("groups[0].", "resources", api.TaskGroupSpec),
                    ("groups[0].tasks[0].", "gpu", api.TaskSpec),
                    ("groups[0].tasks[0].", "topology", api.TaskSpec),
                )
            ],
            id="what a task asks for, in the wrong place",
        ),
        pytest.param(
            workflow(["a"], {"default": {"gpu": "{{gpus}}"}}),
            [
                wrong_type(
                    f"{RESOURCES}.default.gpu",
                    "{{gpus}}",
                    int,
                    remedy=" It looks like a template. Fill it in first.",
                )
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
                finding(osmo.TOO_MANY_LABELS, "2:workflow.labels", count=17, most=16),
                finding(osmo.NOT_A_LABEL_VALUE, "2:workflow.labels.team", value=""),
            ],
            id="too many labels, and an empty one",
        ),
        pytest.param(
            workflow(["a"], {"default": {"topologies": []}}),
            [
                unknown_field(
                    f"{RESOURCES}.default.topologies",
                    "cpu",
                    "gpu",
                    "memory",
                    "nodesExcluded",
                    "platform",
                    "storage",
                    "topology",
                )
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
                finding(
                    osmo.RESOURCE_TWICE,
                    "2:resources.default",
                    resource="default",
                    field=Field(("workflow", "resources")),
                )
            ],
            id="a resource stands in one of the two places",
        ),
        pytest.param(
            spec(tasks=[TASK], pool="q"),
            [not_found("2:workflow.pool", "pool", "q", "p")],
            id="a pool that is missing",
        ),
        pytest.param(
            spec(),
            [finding(osmo.NO_TASKS, "2:workflow.groups")],
            id="a workflow without tasks",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": []}]),
            [finding(osmo.EMPTY_GROUP, "2:workflow.groups[0].tasks", group="g")],
            id="a group without tasks",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": [{"name": "b"}]}], tasks=[TASK]),
            [finding(osmo.TASKS_BESIDE_GROUPS, "2:workflow.tasks")],
            id="groups and tasks exclude each other",
        ),
        pytest.param(
            spec(groups=[{"name": "A_b", "tasks": [{"name": "a-B"}, {"name": "c"}, {"name": "c"}]}]),
            [
                finding(
                    osmo.NAME_TAKEN,
                    "2:workflow.groups[0].tasks[0].name",
                    name="a-B",
                    field=Field(("workflow", "groups", 0)),
                ),
                finding(
                    osmo.NAME_TAKEN,
                    "2:workflow.groups[0].tasks[2].name",
                    name="c",
                    field=Field(("workflow", "groups", 0, "tasks", 1)),
                ),
            ],
            id="groups and tasks have names of their own",
        ),
        pytest.param(
            spec(tasks=[{"name": "1st"}]),
            [finding(osmo.NOT_A_NAME, "2:workflow.tasks[0].name", name="1st")],
            id="names are such as OSMO allows",
        ),
        pytest.param(
            spec(groups=[{"name": "g", "tasks": [{"name": n, "lead": True} for n in "abc"]}]),
            [
                finding(
                    osmo.TWO_LEADS,
                    f"2:workflow.groups[0].tasks[{i}].lead",
                    field=Field(("workflow", "groups", 0, "tasks", 0)),
                    group="g",
                )
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
def test_workflows(text: str, want: list[Finding]) -> None:
    assert reported(pool(), text) == want


def test_keys_are_refused_where_the_pool_has_none() -> None:
    assert reported(pool(keys=()), each({"a": ["rack=r"]})) == [
        finding(
            osmo.POOL_WITHOUT_KEYS,
            f"{RESOURCES}.a.topology[0].key",
            key="rack",
            resource="a",
            pool="p",
        )
    ]


def test_a_workflow_with_topology_keys_needs_a_pool() -> None:
    assert reported(each({"a": ["rack=r"]})) == [
        finding(osmo.KEYS_WITHOUT_POOL, "1:workflow.pool", remedy=OneOf.among("", []))
    ]


def test_of_several_pools_one_must_be_named() -> None:
    assert reported(pool("p"), pool("q"), each({"a": ["rack=r"]})) == [
        finding(osmo.KEYS_WITHOUT_POOL, "3:workflow.pool", remedy=OneOf.among("", ["p", "q"]))
    ]


def test_of_several_pools_one_must_be_named_even_without_keys() -> None:
    assert reported(pool("p"), pool("q"), workflow(["a"])) == [
        finding(osmo.SEVERAL_POOLS, "3:workflow.pool", count=2, remedy=OneOf.among("", ["p", "q"]))
    ]


def test_of_several_pools_the_one_called_default_is_taken() -> None:
    assert reported(pool("p"), pool("default"), each({"a": ["rack=r"]})) == []


def test_a_workflow_without_topology_keys_needs_no_pool() -> None:
    assert reported(workflow(["a", "b"])) == []


DGX = pool(default_platform="dgx", platforms={"dgx": {"allowed_mounts": ["/data/"]}})
TASK_PATH = "2:workflow.tasks[0]"
OF_DGX = {"platform": "dgx", "pool": "p"}


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param(
            {"privileged": True},
            [finding(osmo.PRIVILEGED_NOT_ALLOWED, f"{TASK_PATH}.privileged", **OF_DGX)],
            id="privileged containers are not allowed unless a platform says so",
        ),
        pytest.param(
            {"hostNetwork": True},
            [finding(osmo.HOST_NETWORK_NOT_ALLOWED, f"{TASK_PATH}.hostNetwork", **OF_DGX)],
            id="the network of the host is not allowed unless a platform says so",
        ),
        pytest.param(
            {"volumeMounts": ["/data", "/database:/data/x"]},
            [
                finding(
                    osmo.MOUNT_NOT_ALLOWED,
                    f"{TASK_PATH}.volumeMounts[1]",
                    mount="/database",
                    remedy=OneOf.among("/database", ["/data"]),
                    **OF_DGX,
                )
            ],
            id="a directory is allowed by its whole path",
        ),
        pytest.param(
            {"volumeMounts": ["/data/.."]},
            [finding(osmo.NOT_A_MOUNT, f"{TASK_PATH}.volumeMounts[0]", mount="/data/..")],
            id="no path climbs",
        ),
        pytest.param(
            {"volumeMounts": ["//data/", "/data:/data"]},
            [finding(osmo.MOUNTED_TWICE, f"{TASK_PATH}.volumeMounts[1]", target="/data")],
            id="a path in a container is mounted once",
        ),
        pytest.param({"volumeMounts": ["//data/", "/data:/x"]}, [], id="superfluous slashes do not matter"),
    ],
)
def test_tasks_use_of_the_host_what_their_platform_allows(
    fields: dict[str, Any], want: list[Finding]
) -> None:
    assert reported(DGX, spec(pool="p", tasks=[{**TASK, **fields}])) == want


def test_nothing_of_the_host_is_used_without_a_platform() -> None:
    text = spec(pool="p", tasks=[{**TASK, "privileged": True, "volumeMounts": ["/data"]}])

    assert reported(pool(), text) == [
        finding(osmo.NO_PLATFORM, f"{TASK_PATH}.{field}", task="a")
        for field in ("privileged", "volumeMounts")
    ]


def test_a_platform_must_be_one_of_the_pool() -> None:
    platforms = {"a100": {"labels": {"gpu": "a100"}}}

    assert reported(pool(platforms=platforms), workflow(["a"], {"default": {"platform": "a10"}})) == [
        finding(
            osmo.UNKNOWN_PLATFORM,
            f"{RESOURCES}.default.platform",
            pool="p",
            platform="a10",
            remedy=OneOf.among("a10", ["a100"]),
        )
    ]


def test_an_invalid_workflow_is_a_workload_with_its_problems() -> None:
    (workload,) = reading(pool(), workflow(["a"], {"default": near("x=r")})).workloads

    assert isinstance(workload, InvalidWorkload)
    assert [problem.where for problem in workload.problems] == ["workflow.resources.default.topology[0].key"]


def test_an_invalid_name_of_a_workflow_hides_nothing() -> None:
    topology = [{"key": "rack"}, {"key": "rack", "group": "", "requirementType": "Required"}]
    text = spec(
        name="a b",
        tasks=[{"name": "b c", "resource": "nope"}],
        resources={"default": {"cpu": -1, "topology": topology}},
    )
    path = f"{RESOURCES}.default"

    assert reported(pool(), text) == [
        finding(osmo.NOT_A_NAME, "2:workflow.name", name="a b"),
        finding(osmo.NOT_A_NAME, "2:workflow.tasks[0].name", name="b c"),
        finding(hub.NEGATIVE, f"{path}.cpu", value=-1),
        unknown_type(f"{path}.topology[1].requirementType", "Required"),
        finding(osmo.EMPTY_GROUP_NAME, f"{path}.topology[1].group"),
        requirement_twice(f"{path}.topology[1].key", "rack", "default", "topology", 0),
        not_found("2:workflow.tasks[0].resource", "resource", "nope", "default"),
    ]


@pytest.mark.parametrize("name", ["a.b", "", "ä", "1", "-"])
def test_the_name_of_a_workflow_follows_the_rule_of_osmo_alone(name: str) -> None:
    assert reported(pool(), spec(name=name, tasks=[TASK])) == [
        finding(osmo.NOT_A_NAME, "2:workflow.name", name=name)
    ]


def test_the_name_of_a_workflow_has_its_limit() -> None:
    assert reported(pool(), spec(name="a" * 253, tasks=[TASK])) == []
    assert reported(pool(), spec(name="a" * 254, tasks=[TASK])) == [
        finding(osmo.NAME_TOO_LONG, "2:workflow.name", length=254, most=253)
    ]


def test_a_resource_that_stands_twice_is_checked_in_both_places() -> None:
    inside = {"a": near("rack=r"), "b": near("rack=r")}
    beside = {"b": {**near("rack~r"), "cpu": 1.5}}
    group = {"name": "g", "tasks": [{"name": name, "resource": name} for name in "ab"]}
    text = json.dumps(
        {"workflow": {"name": "w", "groups": [group], "resources": inside}, "resources": beside}
    )

    assert reported(pool(), text) == [
        finding(osmo.RESOURCE_TWICE, "2:resources.b", resource="b", field=Field(("workflow", "resources"))),
        finding(osmo.FRACTION_OF_CPU, "2:resources.b.cpu", value=1.5),
        preferred_and_required("2:resources.b.topology[0].requirementType", "a", "topology", 0),
    ]
