"""OSMO's design for topology aware scheduling, passage by passage.

Each block of the design stands in ``examples/osmo`` with its own names and values, and goes through
``validate``, ``translate`` and ``plan``. A test is named after its passage.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from closeknit.hub.sentences import osmo
from tests.kit.problems import line
from tests.scenario.commands import EXAMPLES, Journey, journey, planned, refused, run, translated

FOLDER = EXAMPLES / "osmo"
POOL = FOLDER / "pool.yaml"
LABELS = {key: f"topology.kubernetes.io/{key}" for key in ("zone", "spine", "rack")} | {
    "gpu-clique": "nvidia.com/gpu-clique"
}
ZONE, SPINE, RACK, CLIQUE = 1, 2, 3, 4
"""How deep the levels of the pool lie."""


def cluster(name: str) -> Path:
    return FOLDER / "clusters" / f"{name}.yaml"


def through(workflow: str, on: str, pool: Path = POOL) -> Journey:
    """One of the design's workflows on one of the clusters that it draws."""
    made = journey(pool, FOLDER / f"{workflow}.yaml", to="kai", nodes=cluster(on))
    assert (made.outcome["dialect"], made.outcome["workload"]["name"]) == ("osmo", workflow)
    assert [each["kind"] for each in made.objects][:4] == ["Topology", "Queue", "Queue", "PodGroup"]
    return made


def constraint(made: dict[str, object], pool: str = "my-pool") -> tuple[object, object]:
    """The required and the preferred level of a PodGroup or subgroup."""
    found = made["topologyConstraint"]
    assert isinstance(found, dict)
    assert found["topology"] == f"osmo-pool-{pool}-topology"
    return found.get("requiredTopologyLevel"), found.get("preferredTopologyLevel")


@pytest.mark.requirement("O1", "O37", "O34")
def test_use_case_1_single_nvl72_rack() -> None:
    """All tasks are in gpu clique a, or all of them are in gpu clique b."""
    made = through("single-nvl72-rack", "use-case-1")

    assert made.placed
    assert len(made.pods()) == 4
    (clique,) = made.domains(CLIQUE)
    assert clique[-1] in {"a", "b"}
    (group,) = made.made("PodGroup")
    assert constraint(group["spec"]) == (LABELS["gpu-clique"], None)
    assert group["spec"]["minMember"] == 4
    assert "subGroups" not in group["spec"]


@pytest.mark.requirement("O2", "O13")
def test_use_case_1_waits_where_no_clique_holds_all_tasks() -> None:
    """Six nodes are left, three of each clique: enough in all, and not in one."""
    nodes = yaml.safe_load_all(cluster("use-case-1").read_text(encoding="utf-8"))
    left = [node for node in nodes if node["metadata"]["name"] not in {"node-4", "node-8"}]
    files = (POOL, FOLDER / "single-nvl72-rack.yaml", "-")

    status, outcomes = planned(*files, given=yaml.safe_dump_all(left))

    assert (len(left), status, outcomes["single-nvl72-rack"]["status"]) == (6, 3, "unplaceable")


@pytest.mark.requirement("O3", "O34", "O37", "O33")
def test_use_case_2_multiple_nvl72_racks() -> None:
    """All shards of one model instance are in the same gpu clique; the two fill one clique each."""
    made = through("multiple-nvl72-racks", "use-case-2")

    assert made.placed
    ((one,), (two,)) = (made.domains(CLIQUE, f"model-{model}-group") for model in (1, 2))
    assert {one[-1], two[-1]} == {"a", "b"}
    assert [len(made.pods(f"model-{model}-group")) for model in (1, 2)] == [4, 4]
    (group,) = made.made("PodGroup")
    assert "topologyConstraint" not in group["spec"]
    assert "minMember" not in group["spec"]
    assert [(part["name"], part["minMember"], constraint(part)) for part in group["spec"]["subGroups"]] == [
        ("model-1-group", 4, (LABELS["gpu-clique"], None)),
        ("model-2-group", 4, (LABELS["gpu-clique"], None)),
    ]


@pytest.mark.requirement("O4", "O12", "O31")
def test_use_case_3_multiple_nvl72_racks_in_same_zone() -> None:
    """The entire workflow is in zone a, because only zone a is large enough."""
    made = through("multiple-nvl72-same-zone", "use-case-3")

    assert made.placed
    assert made.domains(ZONE) == {("a",)}
    assert {made.domains(CLIQUE, f"model-{model}-group").pop()[-1] for model in (1, 2)} == {"a", "b"}
    assert [len(made.domains(CLIQUE, f"model-{model}-group")) for model in (1, 2)] == [1, 1]


@pytest.mark.requirement("O5")
def test_use_case_4_best_effort_where_the_topology_can_be_satisfied() -> None:
    made = through("best-effort-topology", "use-case-4-one-spine")

    assert made.placed
    assert {spine for _, spine in made.domains(SPINE)} == {"a"}
    assert {made.domains(RACK, f"model-{model}-group").pop()[-1] for model in (1, 2)} == {"1", "2"}
    assert [len(made.domains(RACK, f"model-{model}-group")) for model in (1, 2)] == [1, 1]
    assert all(group["satisfied"] for group in made.outcome["groups"])


@pytest.mark.requirement("O14")
def test_use_case_4_best_effort_chooses_where_it_can_be_satisfied(tmp_path: Path) -> None:
    """Spine a comes first and takes one instance; spine b takes both, and is chosen for that."""
    hosts = iter(range(1, 13))
    lines = ["zone-1"]
    for spine, racks in (("a", "1"), ("b", "23")):
        lines.append(f"  {spine}")
        for rack in racks:
            lines += [f"    {rack}", *(f"      node-{next(hosts)}: 8" for _ in range(4))]
    (tmp_path / "cluster.txt").write_text("\n".join(lines))
    levels = ",".join(LABELS[key] for key in ("zone", "spine", "rack"))
    nodes = run("nodes", "--drawing", tmp_path / "cluster.txt", "--levels", levels).stdout

    status, outcomes = planned(POOL, FOLDER / "best-effort-topology.yaml", "-", given=nodes)
    outcome = outcomes["best-effort-topology"]

    assert (status, outcome["status"]) == (0, "placed")
    assert {pod["domain"][SPINE - 1] for pod in outcome["pods"]} == {"b"}
    assert [group["satisfied"] for group in outcome["groups"] if group["preferred"]] == [True] * 3


@pytest.mark.requirement("O6", "O12")
def test_use_case_4_best_effort_where_it_cannot_be_satisfied() -> None:
    """Shards of one model are on the same rack, but the two instances are on separate spines."""
    made = through("best-effort-topology", "use-case-4-two-spines")
    racks = [made.domains(RACK, f"model-{model}-group") for model in (1, 2)]

    assert made.placed
    assert [len(each) for each in racks] == [1, 1]
    assert {each.pop()[1:] for each in racks} == {("a", "1"), ("b", "2")}
    satisfied = {group["preferred"]: group["satisfied"] for group in made.outcome["groups"]}
    assert satisfied == {LABELS["spine"]: False, LABELS["rack"]: True}
    (group,) = made.made("PodGroup")
    assert constraint(group["spec"]) == (None, LABELS["spine"])
    assert [constraint(part) for part in group["spec"]["subGroups"]] == [(None, LABELS["rack"])] * 2


@pytest.mark.requirement("O13")
@pytest.mark.parametrize(
    ("workflow", "on"),
    [
        pytest.param("single-nvl72-rack", "use-case-4-one-spine", id="a cluster without NVLink"),
        pytest.param("multiple-nvl72-same-zone", "use-case-4-two-spines", id="two racks without NVLink"),
    ],
)
@pytest.mark.requirement("O2", "O13")
def test_requirements_required_is_not_scheduled_unless_it_can_be_satisfied(workflow: str, on: str) -> None:
    made = through(workflow, on)

    assert (made.status, made.outcome["status"], made.outcome["pods"]) == (3, "unplaceable", [])
    assert {shortfall["level"] for shortfall in made.outcome["shortfalls"]} == {LABELS["gpu-clique"]}


def test_requirements_use_case_3_waits_where_no_zone_is_large_enough() -> None:
    nodes = yaml.safe_load_all(cluster("use-case-3").read_text(encoding="utf-8"))
    left = [node for node in nodes if node["metadata"]["labels"][LABELS["gpu-clique"]] != "b"]
    files = (POOL, FOLDER / "multiple-nvl72-same-zone.yaml", "-")

    status, outcomes = planned(*files, given=yaml.safe_dump_all(left))

    assert (status, outcomes["multiple-nvl72-same-zone"]["status"]) == (3, "unplaceable")


@pytest.mark.requirement("O9", "O10")
def test_requirements_prevent_topology_key_configuration_for_unsupported_schedulers(tmp_path: Path) -> None:
    (tmp_path / "backend.yaml").write_text(
        yaml.safe_dump({"name": "old", "scheduler_settings": {"scheduler_type": "default"}})
    )
    pool = yaml.safe_load((FOLDER / "pools/my-pool-01.yaml").read_text(encoding="utf-8"))
    (tmp_path / "pool.yaml").write_text(yaml.safe_dump({**pool, "backend": "old"}))

    assert refused(tmp_path) == [
        line(
            osmo.KEYS_NOT_SUPPORTED,
            "topology_keys",
            pool="my-pool-01",
            backend="old",
            scheduler="default",
            supporting=("kai",),
        )
    ]


@pytest.mark.requirement("O7", "O16", "O17", "O26", "O8")
def test_changes_to_pool_config() -> None:
    """Keys go from coarsest to finest, and the workflow of use case 4 can use them."""
    made = through("best-effort-topology", "use-case-4-one-spine", FOLDER / "pools/my-pool-01.yaml")

    (topology,) = made.made("Topology")
    assert topology["metadata"]["name"] == "osmo-pool-my-pool-01-topology"
    assert topology["spec"]["levels"] == [
        {"nodeLabel": LABELS[key], "alias": key} for key in ("zone", "spine", "rack")
    ]
    (group,) = made.made("PodGroup")
    assert constraint(group["spec"], "my-pool-01") == (None, LABELS["spine"])
    assert made.placed
    assert made.outcome["groups"][0]["satisfied"]


@pytest.mark.requirement("O20", "O12", "O18")
def test_changes_to_workflow_spec_defaults_of_a_requirement(tmp_path: Path) -> None:
    """A group is called default and a requirement is required, where nothing else is said."""
    file = FOLDER / "single-nvl72-rack.yaml"
    spec = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert spec["resources"]["default"]["topology"] == [{"key": "gpu-clique"}]
    said = {"key": "gpu-clique", "group": "default", "requirementType": "required"}
    spec["resources"]["default"]["topology"] = [said]
    (tmp_path / "said.yaml").write_text(yaml.safe_dump(spec))

    assert translated("kai", POOL, tmp_path / "said.yaml") == translated("kai", POOL, file)


def test_workflow_examples_the_pool_that_they_assume() -> None:
    """Keys without a name are the pool called default."""
    made = through("multiple-nvl72-same-zone", "use-case-3", FOLDER / "pools/unnamed.yaml")

    (topology,) = made.made("Topology")
    assert topology["metadata"]["name"] == "osmo-pool-default-topology"
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == list(LABELS.values())
    assert made.placed
    assert len(made.domains(ZONE)) == 1


@pytest.mark.requirement("O15", "O41")
@pytest.mark.parametrize(
    "pool",
    [
        pytest.param("name: my-pool\ntopology_keys: []\n", id="an empty list"),
        pytest.param(
            "{apiVersion: osmo.closeknit.dev/v1alpha1, kind: Pool, metadata: {name: my-pool}, spec: {}}",
            id="no list",
        ),
    ],
)
def test_backwards_compatibility_a_pool_without_keys_disallows_requirements(
    pool: str, tmp_path: Path
) -> None:
    (tmp_path / "pool.yaml").write_text(pool)

    assert refused(tmp_path, FOLDER / "single-nvl72-rack.yaml") == [
        line(
            osmo.POOL_WITHOUT_KEYS,
            "resources.default.topology[0].key",
            key="gpu-clique",
            resource="default",
            pool="my-pool",
        )
    ]


@pytest.mark.requirement("O28", "O26")
def test_implementation_the_topology_of_a_pool(tmp_path: Path) -> None:
    """The design lists the levels of its Topology from fine to coarse; KAI counts from coarse to fine, as pools do."""
    written = {
        "apiVersion": "kai.scheduler/v1",
        "kind": "Topology",
        "metadata": {"name": "osmo-pool-my-pool-01-topology"},
        "spec": {"levels": [{"nodeLabel": LABELS[key]} for key in ("rack", "spine", "zone")]},
    }
    (made,) = (
        each
        for each in translated("kai", FOLDER / "pools/my-pool-01.yaml")
        if each["metadata"]["name"] == written["metadata"]["name"]  # type: ignore[index]
    )
    assert made["apiVersion"] == "kai.scheduler/v1alpha1"
    assert [level["nodeLabel"] for level in made["spec"]["levels"]] == [
        LABELS[key] for key in ("zone", "spine", "rack")
    ]

    # Read as it stands it is valid, but a spine then lies in as many racks as it has.
    (tmp_path / "topology.yaml").write_text(yaml.safe_dump(written))
    assert run("validate", "-f", tmp_path / "topology.yaml").exit_code == 0
    files = ("-f", tmp_path / "topology.yaml", "-f", cluster("use-case-3"))
    (checked,) = json.loads(run("topology", *files, "-o", "json").stdout)["topologies"]
    (remark,) = (remark for remark in checked["findings"] if remark["level"] == LABELS["spine"])
    assert remark["kind"] == "crossing"
    assert {"spine-1", "2"} <= set(remark["message"].split())
    assert remark["message"] in run("topology", "--check", *files).stdout


@pytest.mark.requirement("O39")
def test_implementation_the_pod_group_of_use_case_3() -> None:
    """Field by field what the design writes, in today's spelling; subgroups are called by their groups."""
    written = yaml.safe_load((FOLDER / "pod-group/group1-abc123.yaml").read_text(encoding="utf-8"))
    (made,) = through("multiple-nvl72-same-zone", "use-case-3").made("PodGroup")

    name = made["metadata"]["name"]
    assert name.startswith("group1-")
    written["metadata"] |= {"name": name, "namespace": "default"}
    parts = written["spec"].pop("subgroups")
    for part in parts:
        part["name"] = part["name"].replace("subgroup", "group")
    written["spec"]["subGroups"] = parts
    assert made == written


@pytest.mark.requirement("O38")
def test_implementation_the_annotations_and_labels_of_the_pods_of_use_case_3() -> None:
    made = through("multiple-nvl72-same-zone", "use-case-3")
    (group,) = made.made("PodGroup")
    pods = {pod["metadata"]["labels"]["osmo.task_name"]: pod["metadata"] for pod in made.made("Pod")}

    assert sorted(pods) == [f"model{model}-shard{shard}" for model in (1, 2) for shard in (1, 2, 3, 4)]
    for task, metadata in pods.items():
        model = task.removeprefix("model")[0]
        assert metadata["annotations"]["pod-group-name"] == group["metadata"]["name"]
        assert metadata["labels"]["kai.scheduler/subgroup-name"] == f"model-{model}-group"


@pytest.mark.requirement("O40")
def test_implementation_the_pod_group_of_the_design_is_placed_like_the_workflow() -> None:
    """The design's own PodGroup and pods, read as KAI's, end where the workflow does."""
    folder = FOLDER / "pod-group"
    files = [folder / name for name in ("topology.yaml", "group1-abc123.yaml", "pods.yaml")]
    made = journey(*files, to="kai", nodes=cluster("use-case-3"))
    workflow = through("multiple-nvl72-same-zone", "use-case-3")

    assert made.placed
    assert made.outcome["workload"]["name"] == "group1-abc123"
    assert [(pod["node"], pod["domain"]) for pod in made.pods()] == [
        (pod["node"], pod["domain"]) for pod in workflow.pods()
    ]
    (group,) = made.made("PodGroup")
    assert [part["name"] for part in group["spec"]["subGroups"]] == ["model-1-subgroup", "model-2-subgroup"]
