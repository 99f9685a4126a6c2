"""Grove's proposal for topology aware scheduling, passage by passage.

Each example of the proposal stands in ``examples/grove`` with its own names and values, and goes through
``validate``, ``translate`` and ``plan``. A test is named after its passage.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects.grove.status import topology_levels
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, grove
from closeknit.hub.topology import Level, Topology
from tests.kit.problems import line
from tests.scenario.commands import EXAMPLES, Journey, Json, journey, planned, refused, run, translated
from tests.unit.dialects.grove.expected import field

FOLDER = EXAMPLES / "grove"
CONFIGURATION = FOLDER / "operator-configuration.yaml"
LABEL = "topology.kubernetes.io/"
KEYS = {
    "region": f"{LABEL}region",
    "zone": f"{LABEL}zone",
    "datacenter": f"{LABEL}datacenter",
    "block": f"{LABEL}block",
    "rack": f"{LABEL}rack",
    "host": "kubernetes.io/hostname",
}
DEPTH = {domain: depth for depth, domain in enumerate(KEYS, start=1)}


def through(name: str) -> Journey:
    """One of the proposal's two sets, as gangs and on the cluster that is drawn for it."""
    return journey(CONFIGURATION, FOLDER / f"{name}.yaml", to="podgang", nodes=FOLDER / "nodes.yaml")


def required(made: Json) -> str | None:
    """The domain that a gang, a configuration of groups or a group of pods must share."""
    label = made.get("topologyConstraint", {}).get("packConstraint", {}).get("required")
    return next((domain for domain, key in KEYS.items() if key == label), label)


def configured(levels: list[dict[str, str]], **more: Any) -> Json:
    return {
        "apiVersion": "operator.config.grove.io/v1alpha1",
        "kind": "OperatorConfiguration",
        "topologyAwareScheduling": {"enabled": True, "levels": levels, **more},
    }


def without(domain: str, folder: Path) -> Path:
    """The proposal's configuration after a level was taken out."""
    given = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    levels = given["topologyAwareScheduling"]["levels"]
    (folder / "configuration.yaml").write_text(
        yaml.safe_dump(configured([level for level in levels if level["domain"] != domain]))
    )
    return folder / "configuration.yaml"


@pytest.mark.requirement("G31", "G44", "G45")
def test_limitations_scale_out_of_pod_clique_scaling_group() -> None:
    """Replicas 1 and 2 of prefill are scaled gangs of one block each.

    That those blocks lie in the zone of their replica is what the proposal cannot promise; here it holds.
    """
    made = through("hierarchical-inference")
    gangs = {gang["metadata"]["name"]: gang["spec"] for gang in made.made("PodGang")}

    assert list(gangs) == [
        f"hierarchical-inference-{replica}{end}"
        for replica in (0, 1)
        for end in ("", "-prefill-0", "-prefill-1")
    ]
    for replica in (0, 1):
        base = gangs[f"hierarchical-inference-{replica}"]
        (of_prefill,) = base["topologyConstraintGroupConfigs"]
        assert (required(base), required(of_prefill)) == ("zone", "block")
        for scaled in (0, 1):
            gang = gangs[f"hierarchical-inference-{replica}-prefill-{scaled}"]
            assert required(gang) == "block"
            assert [(required(group), group["minReplicas"]) for group in gang["podgroups"]] == [
                ("host", 2),
                (None, 4),
            ]

    assert made.placed
    assert len(made.pods()) == 2 * 3 * (2 + 4)
    for replica in (0, 1):
        name = f"hierarchical-inference-{replica}"
        assert len(made.domains(DEPTH["zone"], f"{name}-")) == 1
        for index in (0, 1, 2):
            assert len(made.domains(DEPTH["block"], f"{name}-prefill-{index}-")) == 1
            assert len(made.domains(DEPTH["host"], f"{name}-prefill-{index}-p-leader")) == 1


@pytest.mark.requirement("G1", "G2", "G12", "G13")
def test_cluster_admin_api_example_operator_configuration(tmp_path: Path) -> None:
    """The five levels that are shown; what is elided after them is left out here."""
    given = without("block", tmp_path)
    levels = ["region", "zone", "datacenter", "rack", "host"]

    assert run("validate", "-f", given).exit_code == 0
    (topology,) = translated("grove", given)
    assert (topology["kind"], topology["metadata"]["name"]) == ("ClusterTopologyBinding", "grove-topology")
    assert topology["spec"]["levels"] == [{"domain": each, "key": KEYS[each]} for each in levels]
    (topology,) = translated("grove", given, options=("--grove-version", "alpha8"))
    assert (topology["kind"], topology["metadata"]["name"]) == ("ClusterTopology", "grove-topology")
    (topology,) = translated("kai", given)
    assert (topology["kind"], topology["metadata"]["name"]) == ("Topology", "grove-topology")
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [KEYS[each] for each in levels]
    assert planned(given, FOLDER / "nodes.yaml") == (0, {})


@pytest.mark.requirement("G3", "G6")
def test_supported_topology_domains(tmp_path: Path) -> None:
    """Seven domains, which have one order whatever the order of the list."""
    domains = [*KEYS, "numa"]
    keys = {**KEYS, "numa": "example.com/numa"}
    levels = [{"domain": domain, "key": keys[domain]} for domain in reversed(domains)]
    (tmp_path / "configuration.yaml").write_text(yaml.safe_dump(configured(levels)))

    (made,) = translated("grove", tmp_path)
    assert [level["domain"] for level in made["spec"]["levels"]] == domains

    levels[0]["domain"] = "Numa"
    (tmp_path / "configuration.yaml").write_text(yaml.safe_dump(configured(levels)))
    assert refused(tmp_path) == [
        line(
            grove.NOT_A_TOPOLOGY_DOMAIN,
            "topologyAwareScheduling.levels[0].domain",
            domain="Numa",
            remedy=OneOf("Numa", tuple(domains)),
        )
    ]


@pytest.mark.requirement("G65")
def test_two_gpus_of_one_numa_node_are_asked_for_as_two_of_one_node(tmp_path: Path) -> None:
    """Nodes are the finest that is placed: gangs name the level, and KAI is asked to share the node."""
    levels = [{"domain": domain, "key": key} for domain, key in {**KEYS, "numa": "example.com/numa"}.items()]
    container = {"name": "main", "image": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    spec = {"roleName": "w", "replicas": 2, "podSpec": {"containers": [container]}}
    clique = {"name": "w", "topologyConstraint": {"packDomain": "numa"}, "spec": spec}
    given = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "s"},
        "spec": {"replicas": 1, "template": {"cliques": [clique]}},
    }
    (tmp_path / "set.yaml").write_text(yaml.safe_dump_all([configured(levels), given]))

    (gang,) = (each for each in translated("podgang", tmp_path) if each["kind"] == "PodGang")
    assert required(gang["spec"]["podgroups"][0]) == "example.com/numa"
    (group,) = (each for each in translated("kai", tmp_path) if each["kind"] == "PodGroup")
    (part,) = group["spec"]["subGroups"]
    assert part["topologyConstraint"]["requiredTopologyLevel"] == KEYS["host"]

    for gpus, used in (((1, 2), {"n1"}), ((1, 1), set())):
        nodes = [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{i}", "labels": {key: f"{key}-{i}" for key in KEYS.values()}},
                "status": {"allocatable": {"nvidia.com/gpu": number, "pods": 10}},
            }
            for i, number in enumerate(gpus)
        ]
        (tmp_path / "nodes.yaml").write_text(yaml.safe_dump_all(nodes))
        _, outcomes = planned(tmp_path)
        (outcome,) = outcomes.values()
        assert {each["node"] for each in outcome.get("pods", ())} == used


@pytest.mark.parametrize(
    ("levels", "want"),
    [
        pytest.param([], ["levels"], id="at least one level", marks=pytest.mark.requirement("G4", "G10")),
        pytest.param(
            [("shelf", "k")],
            ["levels[0].domain"],
            id="a supported domain",
            marks=pytest.mark.requirement("G5", "G10"),
        ),
        pytest.param(
            [("rack", "a"), ("rack", "b")],
            ["levels[1].domain"],
            id="no domain twice",
            marks=pytest.mark.requirement("G7"),
        ),
        pytest.param(
            [("rack", "a"), ("zone", "a")],
            ["levels[1].key"],
            id="no key twice",
            marks=pytest.mark.requirement("G8"),
        ),
        pytest.param(
            [("host", "my/host")],
            ["levels[0].key"],
            id="hosts have the label of the kubelet",
            marks=pytest.mark.requirement("G9"),
        ),
    ],
)
def test_validation_of_the_operator_configuration(
    levels: list[tuple[str, str]], want: list[str], tmp_path: Path
) -> None:
    """The operator ends with a status that is not zero, and a message."""
    given = configured([{"domain": domain, "key": key} for domain, key in levels])
    (tmp_path / "configuration.yaml").write_text(yaml.safe_dump(given))

    assert [problem.split(":")[0] for problem in refused(tmp_path)] == [
        f"topologyAwareScheduling.{path}" for path in want
    ]


@pytest.mark.requirement("G28")
def test_topology_constraints_in_pod_clique_set_at_three_levels() -> None:
    """The set in a zone, prefill in blocks, decode in racks, and every clique where it says."""
    made = through("disaggregated-inference")
    name = "disaggregated-inference-0"

    assert made.placed
    assert len(made.pods()) == 1 + 2 * (1 + 4) + 2 * (1 + 2)
    assert len(made.domains(DEPTH["zone"])) == 1
    assert len(made.domains(DEPTH["block"], f"{name}-router")) == 1
    for replica in (0, 1):
        assert len(made.domains(DEPTH["block"], f"{name}-prefill-{replica}-")) == 1
        for clique in ("p-leader", "p-worker"):
            assert len(made.domains(DEPTH["rack"], f"{name}-prefill-{replica}-{clique}")) == 1
        assert len(made.domains(DEPTH["rack"], f"{name}-decode-{replica}-")) == 1


@pytest.mark.requirement("G42", "G43", "G44", "G45", "G47", "G49")
def test_pod_gang_scheduler_api_enhancements() -> None:
    """The base gang has the set's constraint and a configuration a group; a scaled gang has its group's."""
    gangs = {
        gang["metadata"]["name"]: gang["spec"] for gang in through("disaggregated-inference").made("PodGang")
    }
    name = "disaggregated-inference-0"

    assert list(gangs) == [name, f"{name}-prefill-0", f"{name}-decode-0"]
    assert {each: required(spec) for each, spec in gangs.items()} == {
        name: "zone",
        f"{name}-prefill-0": "block",
        f"{name}-decode-0": "rack",
    }
    assert [
        (required(each), [group.removeprefix(f"{name}-") for group in each["podGroupNames"]])
        for each in gangs[name]["topologyConstraintGroupConfigs"]
    ] == [
        ("block", ["prefill-0-p-leader", "prefill-0-p-worker"]),
        ("rack", ["decode-0-d-leader", "decode-0-d-worker"]),
    ]
    assert all("topologyConstraintGroupConfigs" not in spec for each, spec in gangs.items() if each != name)
    assert {
        group["name"].removeprefix(f"{name}-"): (required(group), group["minReplicas"])
        for spec in gangs.values()
        for group in spec["podgroups"]
    } == {
        "router": ("block", 1),
        **{f"prefill-{index}-p-leader": ("rack", 1) for index in (0, 1)},
        **{f"prefill-{index}-p-worker": ("rack", 4) for index in (0, 1)},
        **{f"decode-{index}-d-leader": ("rack", 1) for index in (0, 1)},
        **{f"decode-{index}-d-worker": ("rack", 2) for index in (0, 1)},
    }


@pytest.mark.parametrize(
    ("parent", "child", "valid"),
    [
        pytest.param("rack", "host", True, marks=pytest.mark.requirement("G35")),
        pytest.param("rack", "rack", True, marks=pytest.mark.requirement("G36")),
        pytest.param("rack", "numa", True, marks=pytest.mark.requirement("G37")),
        pytest.param("host", "rack", False, marks=pytest.mark.requirement("G38")),
        pytest.param("zone", "block", True, marks=pytest.mark.requirement("G39")),
        pytest.param("rack", "zone", False, marks=pytest.mark.requirement("G40")),
        pytest.param("rack", "region", False, marks=pytest.mark.requirement("G40")),
    ],
)
def test_rule_2_check_for_hierarchical_strictness(
    parent: str, child: str, valid: bool, tmp_path: Path
) -> None:
    keys = {**KEYS, "numa": "example.com/numa"}
    levels = [{"domain": domain, "key": key} for domain, key in keys.items()]
    given = yaml.safe_load((FOLDER / "hierarchical-inference.yaml").read_text(encoding="utf-8"))
    template = given["spec"]["template"]
    template["topologyConstraint"]["packDomain"] = parent
    template["podCliqueScalingGroups"][0]["topologyConstraint"]["packDomain"] = child
    template["cliques"][0].pop("topologyConstraint")
    (tmp_path / "set.yaml").write_text(yaml.safe_dump_all([configured(levels), given]))

    if valid:
        assert run("validate", "-f", tmp_path).exit_code == 0
        binding, *gangs = translated("podgang", tmp_path)
        assert binding["kind"] == "ClusterTopologyBinding"
        assert {required(gang["spec"]) for gang in gangs} == {
            each if each in KEYS else keys[each] for each in (parent, child)
        }
    else:
        assert refused(tmp_path) == [
            line(
                core.COARSER_LEVEL,
                "spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain",
                level=child,
                bound=parent,
                field=field("spec.template.topologyConstraint.packDomain"),
                called="domain",
            )
        ]


@pytest.mark.requirement("G42", "G63")
def test_workload_portability_the_same_set_on_a_cluster_with_other_labels(tmp_path: Path) -> None:
    levels = [{"domain": domain, "key": f"example.com/{domain}"} for domain in KEYS if domain != "host"]
    hosts = {"domain": "host", "key": KEYS["host"]}
    (tmp_path / "configuration.yaml").write_text(yaml.safe_dump(configured([*levels, hosts])))

    _, *gangs = translated("podgang", tmp_path, FOLDER / "disaggregated-inference.yaml")

    assert [required(gang["spec"]) for gang in gangs] == [
        f"example.com/{domain}" for domain in ("zone", "block", "rack")
    ]


@pytest.mark.requirement("G66")
def test_nodes_without_the_label_of_a_level_are_not_used_for_it(tmp_path: Path) -> None:
    nodes = list(yaml.safe_load_all((FOLDER / "nodes.yaml").read_text(encoding="utf-8")))
    for node in nodes:
        node["metadata"].get("labels", {}).pop(KEYS["block"], None)
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump_all(nodes))

    files = (CONFIGURATION, FOLDER / "disaggregated-inference.yaml")
    status, outcomes = planned(*files, tmp_path / "nodes.yaml")

    assert (status, outcomes["disaggregated-inference"]["status"]) == (3, "unplaceable")


@pytest.mark.requirement("G33", "G60", "G64")
def test_workload_portability_and_rule_1_a_domain_that_the_cluster_lacks_is_rejected(tmp_path: Path) -> None:
    problems = refused(without("block", tmp_path), FOLDER / "disaggregated-inference.yaml")

    assert sorted(problems) == [
        line(
            grove.UNKNOWN_DOMAIN,
            f"spec.template.{place}.topologyConstraint.packDomain",
            topology="grove-topology",
            domain="block",
            remedy=OneOf("block", ("region", "zone", "datacenter", "rack", "host")),
        )
        for place in ("cliques[0]", "podCliqueScalingGroups[0]")
    ]


def lost_block(place: str) -> str:
    """The note about a constraint whose domain has gone."""
    return line(
        grove.LOST_DOMAIN,
        f"spec.template.{place}.topologyConstraint.packDomain",
        topology="grove-topology",
        domain="block",
        condition="TopologyLevelsUnavailable",
        reason="ClusterTopologyLevelsUnavailable",
    )


@pytest.mark.requirement("G46", "G55", "G68")
def test_topology_configuration_drift_invalid_constraints_are_removed_from_the_gangs(tmp_path: Path) -> None:
    """A set that stands in the cluster goes on without the constraints that no longer mean anything."""
    given = yaml.safe_load((FOLDER / "disaggregated-inference.yaml").read_text(encoding="utf-8"))
    given["metadata"]["uid"] = "5c9f7b52-1f5c-4c1f-9d0e-0d1c1f6f4a11"
    (tmp_path / "set.yaml").write_text(yaml.safe_dump(given))
    made = journey(
        without("block", tmp_path),
        tmp_path / "set.yaml",
        to="podgang",
        nodes=FOLDER / "nodes.yaml",
        noted="".join(
            f"note: PodCliqueSet default/disaggregated-inference: {lost_block(place)}\n"
            for place in ("podCliqueScalingGroups[0]", "cliques[0]")
        ),
    )
    gangs = {gang["metadata"]["name"]: gang["spec"] for gang in made.made("PodGang")}
    name = "disaggregated-inference-0"

    assert made.placed
    assert required(gangs[name]) == "zone"
    # A scaled gang whose group has no constraint, or none that is left, has that of the set.
    assert required(gangs[f"{name}-prefill-0"]) == "zone"
    assert required(gangs[f"{name}-decode-0"]) == "rack"
    assert {
        group["name"]: required(group) for group in gangs[name]["podgroups"] if "router" in group["name"]
    } == {f"{name}-router": None}
    assert len(made.domains(DEPTH["zone"])) == 1


@pytest.mark.parametrize(
    ("left", "status", "reason"),
    [
        pytest.param(None, "Unknown", "ClusterTopologyNotFound", id="the topology no longer exists"),
        pytest.param(
            ["zone", "rack"], "True", "ClusterTopologyLevelsUnavailable", id="a level in use is gone"
        ),
        pytest.param(
            ["zone", "block", "rack"], "False", "AllClusterTopologyLevelsAvailable", id="all in use are there"
        ),
    ],
)
def test_monitoring_pod_clique_set_status_conditions(
    left: list[str] | None, status: str, reason: str
) -> None:
    given = yaml.safe_load((FOLDER / "disaggregated-inference.yaml").read_text(encoding="utf-8"))
    topologies = {}
    if left is not None:
        levels = tuple(Level(KEYS[domain], domain) for domain in left)
        topologies["grove-topology"] = Topology("grove-topology", levels)

    found = topology_levels(msgspec.convert(given, PodCliqueSet), Known(topologies))

    assert (found.type, found.status, found.reason) == ("TopologyLevelsUnavailable", status, reason)
