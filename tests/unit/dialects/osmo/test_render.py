"""What pools and workflows become, and that it asks for the same as the workflow itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.dialects import Source
from closeknit.dialects.osmo import OSMO
from closeknit.dialects.osmo.pools import pool_named
from closeknit.dialects.osmo.render import to_pods
from closeknit.dialects.osmo.workflows import workflow_of
from closeknit.dialects.reading import load
from closeknit.dialects.store.view import View
from closeknit.hub import quantities
from closeknit.hub.nodes import Operator
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import reading, request
from tests.unit.dialects.osmo.kit import KEYS, each, objects, pod_group, pool, workflow
from tests.unit.dialects.osmo.written import example


def gathered(*texts: str) -> View:
    return load((OSMO,), [Source("f", "\n---\n".join(texts).encode())], lenient=False).view


def test_the_pod_group_of_use_case_3_is_the_one_in_the_design() -> None:
    made = pod_group(*example("pool.yaml", "multiple-nvl72-same-zone.yaml"))
    name = made["metadata"]["name"]
    one, two = (part["name"] for part in made["spec"]["subGroups"])

    assert name.startswith("group1-")
    assert made == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kai.scheduler/queue": "osmo-pool-my-pool"},
        },
        "spec": {
            "queue": "osmo-pool-my-pool",
            "topologyConstraint": {
                "topology": "osmo-pool-my-pool-topology",
                "requiredTopologyLevel": "topology.kubernetes.io/zone",
            },
            "subGroups": [
                {
                    "name": one,
                    "minMember": 4,
                    "topologyConstraint": {
                        "topology": "osmo-pool-my-pool-topology",
                        "requiredTopologyLevel": "nvidia.com/gpu-clique",
                    },
                },
                {
                    "name": two,
                    "minMember": 4,
                    "topologyConstraint": {
                        "topology": "osmo-pool-my-pool-topology",
                        "requiredTopologyLevel": "nvidia.com/gpu-clique",
                    },
                },
            ],
        },
    }
    assert (one, two) == ("model-1-group", "model-2-group")


def test_the_pods_of_use_case_3_carry_the_annotation_and_label_of_the_design() -> None:
    made = objects(*example("pool.yaml", "multiple-nvl72-same-zone.yaml"), to="pods")
    (group,) = {pod["metadata"]["annotations"]["pod-group-name"] for pod in made}

    assert [pod["kind"] for pod in made] == ["Pod"] * 8
    assert group == pod_group(*example("pool.yaml", "multiple-nvl72-same-zone.yaml"))["metadata"]["name"]
    for pod in made:
        labels = pod["metadata"]["labels"]
        model = labels["osmo.task_name"].partition("-")[0].removeprefix("model")
        assert labels["kai.scheduler/subgroup-name"] == f"model-{model}-group"


def test_the_topology_lists_the_labels_of_the_pool_coarsest_first() -> None:
    made, *_ = objects(pool("my-pool"))

    assert made == {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "osmo-pool-my-pool-topology", "labels": {"osmo.pool": "my-pool"}},
        "spec": {"levels": [{"nodeLabel": f"t/{key}", "alias": key} for key in KEYS]},
    }


@pytest.mark.requirement("O15", "O41")
def test_a_pool_without_keys_has_no_topology() -> None:
    assert {one["kind"] for one in objects(pool(keys=()))} == {"Queue"}


def test_a_pool_becomes_a_queue_with_its_share_below_the_queue_of_its_backend() -> None:
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    share = {"gpu": {"guarantee": 16, "maximum": 64, "weight": 3}}

    above, one, other = objects(pool("p", keys=(), resources=share), pool("q", keys=()))

    assert above == {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "osmo-default"},
        "spec": {"resources": dict.fromkeys(("gpu", "cpu", "memory"), unlimited)},
    }
    assert one["metadata"]["name"] == "osmo-pool-p"
    assert one["spec"] == {
        "parentQueue": "osmo-default",
        "resources": {
            "gpu": {"quota": 16, "limit": 64, "overQuotaWeight": 3},
            "cpu": unlimited,
            "memory": unlimited,
        },
    }
    assert other["spec"]["resources"]["gpu"] == unlimited


def test_names_hold_the_namespace_of_the_backend_where_it_is_known() -> None:
    backend = {
        "name": "b",
        "k8s_namespace": "osmo-prod",
        "scheduler_settings": {"scheduler_type": "kai", "scheduler_name": "my-kai"},
    }

    made = objects(json.dumps(backend), pool(backend="b"), each({"a": ["rack=r"]}))

    topology, above, queue, group, pod = made
    assert topology["metadata"]["name"] == "osmo-pool-osmo-prod-p-topology"
    assert above["metadata"]["name"] == queue["spec"]["parentQueue"] == "osmo-default-osmo-prod"
    assert group["spec"]["queue"] == queue["metadata"]["name"] == "osmo-pool-osmo-prod-p"
    assert group["metadata"]["namespace"] == pod["metadata"]["namespace"] == "osmo-prod"
    assert pod["spec"]["schedulerName"] == "my-kai"


def test_a_retried_task_keeps_all_that_ties_it_to_its_place() -> None:
    view = gathered(pool(), each({"a": ["rack=r1"], "b": ["rack=r2"]}))
    (stored,) = view.of(Workflow)
    found = workflow_of(view, stored.key)
    assert found is not None
    (group,) = found.groups

    first, other = to_pods(group, found)
    again, same = to_pods(group, found, retries={"a": 2})

    assert again["metadata"]["name"] == f"{first['metadata']['name']}-2"
    assert again["metadata"]["annotations"] == first["metadata"]["annotations"]
    assert again["metadata"]["labels"] == {**first["metadata"]["labels"], "osmo.retry_id": "2"}
    assert again["metadata"]["labels"]["kai.scheduler/subgroup-name"] == "r1"
    assert again["spec"] == first["spec"]
    assert same == other


def test_users_can_list_the_keys_of_a_pool() -> None:
    view = gathered(pool("p"))

    found = view.derive(pool_named, "p")

    assert found is not None
    assert [(one.key, one.label) for one in found.keys] == [
        ("zone", "t/zone"),
        ("spine", "t/spine"),
        ("rack", "t/rack"),
    ]
    assert view.derive(pool_named, "q") is None


def test_labels_of_a_workflow_go_to_its_pods_unless_osmo_says_otherwise() -> None:
    labels = {"team": "robotics", "osmo.group_name": "mine"}
    made = objects(pool(), workflow(["a"], {"default": {"gpu": 1}}, labels=labels))
    (pod,) = (each for each in made if each["kind"] == "Pod")
    assert (pod["metadata"]["labels"]["team"], pod["metadata"]["labels"]["osmo.group_name"]) == (
        "robotics",
        "g",
    )
    assert all("team" not in each["metadata"].get("labels", {}) for each in made if each["kind"] != "Pod")


def test_a_pod_runs_what_the_task_says() -> None:
    task = {
        "name": "Train_1",
        "image": "pytorch",
        "command": ["bash"],
        "args": ["-c", "true"],
        "environment": {"B": "2", "A": "1"},
        "privileged": True,
        "hostNetwork": True,
        "lead": True,
    }
    resources = {"default": {"cpu": 2, "gpu": 8, "memory": "30Gi", "storage": "1Ti"}}
    (pod,) = objects(
        json.dumps({"workflow": {"name": "w", "tasks": [task], "resources": resources}}), to="pods"
    )
    asked = {"cpu": "2", "nvidia.com/gpu": "8", "memory": "30Gi", "ephemeral-storage": "1Ti"}

    assert pod["metadata"]["labels"]["osmo.lead_container"] == "true"
    assert pod["spec"] == {
        "schedulerName": "kai-scheduler",
        "restartPolicy": "Never",
        "hostNetwork": True,
        "containers": [
            {
                "name": "train-1",
                "image": "pytorch",
                "command": ["bash"],
                "args": ["-c", "true"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "securityContext": {"privileged": True},
                "resources": {"requests": asked, "limits": asked},
            }
        ],
    }


def test_numbers_and_truth_values_among_words_are_written_out() -> None:
    """Nobody puts them in quotes, and OSMO takes them."""
    task = {"name": "a", "command": ["sleep"], "args": [42, 1.5], "environment": {"DEBUG": True, "N": 3}}
    (pod,) = objects(json.dumps({"workflow": {"name": "w", "tasks": [task]}}), to="pods")
    (container,) = pod["spec"]["containers"]

    assert container["args"] == ["42", "1.5"]
    assert container["env"] == [{"name": "DEBUG", "value": "True"}, {"name": "N", "value": "3"}]


@pytest.mark.parametrize(
    ("written", "want"),
    [
        ("10Gi", 10 * 2**30),
        ("10GiB", 10 * 2**30),
        ("1.5TiB", 3 * 2**39),
        ("4MiB", 4 * 2**20),
        ("4KiB", 4096),
        ("4K", 4096),
        ("100B", 100),
        ("1G", 10**9),
        (2048, 2048),
    ],
)
def test_memory_and_storage_have_the_units_of_osmo(written: str | int, want: int) -> None:
    resources = {"default": {"memory": written, "storage": written}}

    (pods,) = request(workflow(["a"], resources)).root.pod_sets()
    (pod,) = objects(workflow(["a"], resources), to="pods")

    assert dict(pods.resources) == {"memory": want, "ephemeral-storage": want}
    assert (
        quantities.amount("memory", pod["spec"]["containers"][0]["resources"]["requests"]["memory"]) == want
    )


def test_a_task_that_asks_for_nothing_is_taken_to_need_one_gpu() -> None:
    (pods,) = request(workflow(["a"])).root.pod_sets()

    assert dict(pods.resources) == {"nvidia.com/gpu": 1}


@pytest.mark.requirement("O18")
def test_what_a_resource_leaves_out_is_the_pools_default() -> None:
    defaults = {"USER_CPU": 1, "USER_GPU": 0, "USER_MEMORY": "1Gi"}

    (pods,) = request(
        pool(common_default_variables=defaults), workflow(["a"], {"default": {"memory": "2Gi"}})
    ).root.pod_sets()

    assert dict(pods.resources) == {"cpu": 10**9, "memory": 2 * 2**30}


def test_a_platform_and_excluded_nodes_narrow_the_choice() -> None:
    platform = {"labels": {"gpu": "h100"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    (pods,) = request(
        pool(platforms={"h": platform}, default_platform="h"),
        workflow(["a"], {"default": {"nodesExcluded": ["n2", "n1"]}}),
    ).root.pod_sets()

    assert pods.filter.selector == (("gpu", "h100"),)
    assert [toleration.key for toleration in pods.filter.tolerations] == ["gpu"]
    ((requirement,),) = (term.requirements for term in pods.filter.affinity or ())
    assert (requirement.operator, requirement.values) == (Operator.NOT_IN, ("n1", "n2"))


def test_groups_of_a_workflow_are_placed_one_by_one() -> None:
    groups = [
        {"name": "first", "tasks": [{"name": "a"}, {"name": "b"}]},
        {"name": "second", "tasks": [{"name": "c"}]},
    ]
    found = reading(json.dumps({"workflow": {"name": "w", "groups": groups}}))

    assert [workload.object.name for workload in found.workloads] == ["w.first", "w.second"]
    assert [
        sum(pods.count for pods in workload.request.root.pod_sets())
        for workload in found.workloads
        if isinstance(workload, PlaceableWorkload)
    ] == [2, 1]


def test_the_lead_is_the_task_that_says_so_or_else_the_first() -> None:
    def lead(**fields: Any) -> list[str]:
        tasks = [{"name": "a"}, {"name": "b", **fields}]
        made = objects(
            json.dumps({"workflow": {"name": "w", "groups": [{"name": "g", "tasks": tasks}]}}), to="pods"
        )
        labels = [pod["metadata"]["labels"] for pod in made]
        return [one["osmo.task_name"] for one in labels if "osmo.lead_container" in one]

    assert lead(lead=True) == ["b"]
    assert lead() == ["a"]


def test_workflows_with_groups_and_tasks_of_the_same_names_stay_apart() -> None:
    made = objects(workflow(["a"], name="w"), workflow(["a"], name="v"))

    assert len({one["metadata"]["name"] for one in made if one["kind"] == "PodGroup"}) == 2
    assert len({one["metadata"]["name"] for one in made if one["kind"] == "Pod"}) == 2


def test_a_pool_of_a_long_name_has_a_queue_that_fits_a_label() -> None:
    first, second = (
        pod_group(pool("p" * 80 + last), each({"a": ["rack=r"]}))["spec"]["queue"] for last in "ab"
    )

    assert len(first) == len(second) == 63
    assert first != second


def test_a_task_that_stands_alone_is_a_group_of_its_own() -> None:
    made = objects(json.dumps({"workflow": {"name": "w", "tasks": [{"name": "a"}, {"name": "b"}]}}))

    assert [one["spec"]["minMember"] for one in made if one["kind"] == "PodGroup"] == [1, 1]


def test_a_workflow_whose_pod_group_is_there_asks_for_nothing_more() -> None:
    texts = pool(), each({"a": ["rack=r1"], "b": ["rack=r2"]})
    made = [json.dumps(one) for one in objects(*texts)]

    found = reading(*texts, *made)

    assert [str(problem) for problem in found.problems] == []
    assert [workload.object.kind for workload in found.workloads] == ["PodGroup"]


def test_a_pod_group_that_is_there_is_not_written_a_second_time() -> None:
    texts = pool(), each({"a": ["rack=r1"], "b": ["rack=r2"]})
    there = pod_group(*texts)
    there["spec"]["priorityClassName"] = "train"

    found = [one for one in objects(*texts, json.dumps(there)) if one["kind"] == "PodGroup"]

    assert len(found) <= 1
    assert all(one["spec"]["priorityClassName"] == "train" for one in found)


def test_an_object_that_carries_the_file_asks_for_the_same() -> None:
    text = each({"a": ["zone=z", "rack=r1"], "b": ["zone=z"]})
    whole = {
        "apiVersion": "osmo.closeknit.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": json.loads(text),
    }
    carried = {
        "apiVersion": "osmo.closeknit.dev/v1alpha1",
        "kind": "Pool",
        "metadata": {"name": "p"},
        "spec": json.loads(pool()),
    }

    assert request(json.dumps(carried), json.dumps(whole)) == request(pool(), text)


def test_resources_may_stand_inside_the_workflow_or_beside_it() -> None:
    inside = json.loads(each({"a": ["rack=r1"], "b": ["rack=r2"]}))
    beside = {
        "resources": inside["workflow"]["resources"],
        "workflow": {key: value for key, value in inside["workflow"].items() if key != "resources"},
    }

    assert request(pool(), json.dumps(inside)) == request(pool(), json.dumps(beside))


def test_pods_of_long_and_similar_names_stay_apart() -> None:
    names = ["x" * 80 + "a", "x" * 80 + "b"]
    made = objects(workflow(names), to="pods")

    assert len({pod["metadata"]["name"] for pod in made}) == 2
    assert all(len(pod["metadata"]["name"]) <= 63 for pod in made)
