"""Dynamo's proposal for topology aware scheduling, passage by passage.

Each example of the proposal stands in ``examples/dynamo`` with its own names and values, and goes through
``validate``, ``translate`` and ``plan``. A test is named after its passage.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, dynamo, grove
from tests.kit.problems import Finding, finding, line
from tests.scenario.commands import EXAMPLES, Journey, Json, journey, planned, refused, run, translated
from tests.unit.dialects.grove.expected import SEVEN, field, field_changed
from tests.unit.dialects.grove.sets import topology
from tests.unit.dialects.kit import forbidden_changes, status

KIND = "DynamoGraphDeployment"
FOLDER = EXAMPLES / "dynamo"
TOPOLOGY = FOLDER / "topology.yaml"
ZONE, BLOCK, RACK = 1, 2, 3
"""How deep the levels of the cluster lie."""

SETTINGS = """\
operator:
  topologyAwareScheduling:
    # Future (non-Grove backends, e.g. Kueue): map abstract domains to node labels for validation.
    # domainToLabelMapping:
    #   block: "cloud.provider.com/topology-block"
    #   rack: "cloud.provider.com/topology-rack"
    #   host: "kubernetes.io/hostname"
"""
STATUS = """\
status:
  conditions:
    - type: Ready
      status: "True"
    - type: TopologyConstraintsEnforced
      status: "False"
      reason: TopologyLevelsUnavailable
      message: "Topology level 'rack' is no longer available in the cluster topology"
"""


def text(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def through(name: str) -> tuple[Journey, Json]:
    """One of the proposal's deployments: as Grove's set, whose template is handed out, and placed."""
    made = journey(TOPOLOGY, FOLDER / f"{name}.yaml", to="grove", nodes=FOLDER / "nodes.yaml")
    assert (made.outcome["dialect"], made.outcome["workload"]["name"]) == ("dynamo", name)
    (found,) = made.made("PodCliqueSet")
    return made, found["spec"]["template"]


def not_one_of_the_domains(word: str) -> str:
    """The problem of a deployment whose domain is none of the proposal's."""
    where = "spec.topologyConstraint.packDomain"
    return line(grove.NOT_A_TOPOLOGY_DOMAIN, where, domain=word, remedy=OneOf(word, SEVEN))


def domain(made: Json) -> str | None:
    """The domain that a template, a scaling group or a clique must share."""
    found: str | None = made.get("topologyConstraint", {}).get("pack", {}).get("required")
    return found


def parts(template: Json, kind: str) -> dict[str, str | None]:
    return {part["name"]: domain(part) for part in template.get(kind, [])}


def changed(name: str, edit: Any) -> Json:
    given: Json = yaml.safe_load(text(name))
    edit(given["spec"])
    return given


@pytest.mark.requirement("D4", "D17", "D21", "D22")
def test_user_examples_broad_deployment_level_constraint_only() -> None:
    """The template has the constraint; services have none of their own, and inherit it."""
    made, template = through("deployment-level")

    assert domain(template) == "zone"
    assert parts(template, "cliques") == {"vllmworker": None, "frontend": None}
    assert "podCliqueScalingGroups" not in template
    assert made.placed
    assert len(made.pods()) == 2 + 1
    assert len(made.domains(ZONE)) == 1


@pytest.mark.requirement("D6", "D18", "D20", "D22")
def test_user_examples_mixed_deployment_level_default_with_a_per_service_override() -> None:
    """The service on several nodes has its constraint on the scaling group, and none on its cliques."""
    made, template = through("mixed")

    assert domain(template) == "zone"
    assert parts(template, "podCliqueScalingGroups") == {"vllmworker": "block"}
    assert parts(template, "cliques") == {"vllmworker-ldr": None, "vllmworker-wkr": None, "frontend": None}
    assert made.placed
    assert len(made.pods()) == 2 * 4 + 1
    assert len(made.domains(ZONE)) == 1
    for replica in (0, 1):
        assert len(made.pods(f"mixed-0-vllmworker-{replica}-")) == 4
        assert len(made.domains(BLOCK, f"mixed-0-vllmworker-{replica}-")) == 1


@pytest.mark.requirement("D5", "D18", "D20", "D22")
def test_user_examples_service_level_only() -> None:
    """Only the service that says so is packed; the set as a whole is not."""
    made, template = through("service-level")

    assert domain(template) is None
    assert parts(template, "podCliqueScalingGroups") == {"vllmworker": "rack"}
    assert parts(template, "cliques") == {"vllmworker-ldr": None, "vllmworker-wkr": None, "frontend": None}
    assert made.placed
    assert len(made.pods()) == 2 * 4 + 1
    for replica in (0, 1):
        assert len(made.pods(f"service-level-0-vllmworker-{replica}-")) == 4
        assert len(made.domains(RACK, f"service-level-0-vllmworker-{replica}-")) == 1
    assert [group["required"] for group in made.outcome["groups"]].count("topology/rack") == 2


@pytest.mark.requirement("D19")
def test_mapping_table_a_constraint_of_a_service_on_one_node_stands_on_its_clique(tmp_path: Path) -> None:
    given = changed(
        "mixed", lambda spec: spec["services"][1].update(topologyConstraint={"packDomain": "rack"})
    )
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump(given))

    (made,) = translated("grove", TOPOLOGY, tmp_path / "graph.yaml")

    assert parts(made["spec"]["template"], "cliques")["frontend"] == "rack"


@pytest.mark.requirement("D1", "D22", "D30")
def test_constraint_resolution_neither_set_no_topology_constraints_anywhere(tmp_path: Path) -> None:
    """And no topology is needed: existing deployments go on unchanged."""
    given = changed("deployment-level", lambda spec: spec.pop("topologyConstraint"))
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump(given))

    made = journey(tmp_path / "graph.yaml", to="grove", nodes=FOLDER / "nodes.yaml")

    assert "topologyConstraint" not in yaml.safe_dump(made.objects)
    assert made.placed
    assert all(group["required"] is None for group in made.outcome["groups"])


def test_pcs_generation_in_the_spelling_of_the_proposal() -> None:
    files = (TOPOLOGY, FOLDER / "mixed.yaml")
    (made,) = translated("grove", *files, options=("--grove-version", "alpha8"))

    template = made["spec"]["template"]
    assert template["topologyConstraint"] == {"packDomain": "zone"}
    assert template["podCliqueScalingGroups"][0]["topologyConstraint"] == {"packDomain": "block"}


def test_operator_configuration_with_nothing_in_it_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "operator.yaml").write_text(SETTINGS)
    files = (TOPOLOGY, FOLDER / "mixed.yaml", FOLDER / "nodes.yaml")

    assert run("validate", "-f", tmp_path / "operator.yaml").exit_code == 0
    assert planned(tmp_path / "operator.yaml", *files) == planned(*files)
    assert translated("grove", tmp_path / "operator.yaml", *files) == translated("grove", *files)


def test_operator_configuration_domain_to_label_mapping_leads_to_kueue() -> None:
    """Each replica of the service is a slice that needs a rack, by the label that racks have there."""
    folder = FOLDER / "kueue"
    shown = yaml.safe_load(SETTINGS.replace("    # ", "    ").replace("Future", "# Future"))
    assert yaml.safe_load((folder / "operator.yaml").read_text(encoding="utf-8")) == shown

    made = journey(
        folder / "operator.yaml", folder / "service-level.yaml", to="kueue", nodes=folder / "nodes.yaml"
    )

    (topology,) = made.made("Topology")
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "cloud.provider.com/topology-block",
        "cloud.provider.com/topology-rack",
        "kubernetes.io/hostname",
    ]
    (flavor,) = made.made("ResourceFlavor")
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    (worker,) = made.made("Job")
    assert worker["metadata"]["annotations"] == {"kueue.x-k8s.io/job-min-parallelism": "4"}
    assert worker["spec"]["parallelism"] == 2 * 4
    assert worker["spec"]["template"]["metadata"]["annotations"] == {
        "kueue.x-k8s.io/podset-slice-required-topology": "cloud.provider.com/topology-rack",
        "kueue.x-k8s.io/podset-slice-size": "4",
    }
    (frontend,) = (each["spec"]["replicatedJobs"][0] for each in made.made("JobSet"))
    assert "annotations" not in frontend["template"]["spec"]["template"]["metadata"]
    assert made.placed
    for replica in (0, 1):
        assert len(made.domains(2, f"service-level-0-vllmworker-{replica}-")) == 1


@pytest.mark.requirement("D9")
def test_hierarchy_a_service_may_name_the_domain_of_the_deployment(tmp_path: Path) -> None:
    equal = changed("mixed", lambda spec: spec["topologyConstraint"].update(packDomain="block"))
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump(equal))

    assert run("validate", "-f", TOPOLOGY, "-f", tmp_path).exit_code == 0


@pytest.mark.requirement("D11")
def test_abstraction_a_node_label_is_no_domain(tmp_path: Path) -> None:
    label = changed("mixed", lambda spec: spec["topologyConstraint"].update(packDomain="example.com/rack"))
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump(label))

    (problem, *_) = refused(TOPOLOGY, tmp_path / "graph.yaml")

    assert problem == not_one_of_the_domains("example.com/rack")


@pytest.mark.parametrize(
    ("edit", "want"),
    [
        pytest.param(
            lambda spec: spec["topologyConstraint"].update(packDomain="shelf"),
            not_one_of_the_domains("shelf"),
            id="struct: a domain is one of the known ones",
            marks=pytest.mark.requirement("D26"),
        ),
        pytest.param(
            lambda spec: spec["topologyConstraint"].update(packDomain="topology.kubernetes.io/zone"),
            not_one_of_the_domains("topology.kubernetes.io/zone"),
            id="struct: the label of a node is not a domain",
            marks=pytest.mark.requirement("D11"),
        ),
        pytest.param(
            lambda spec: spec["topologyConstraint"].update(packDomain="rack"),
            line(
                core.COARSER_LEVEL,
                "spec.services[0].topologyConstraint.packDomain",
                level="block",
                bound="rack",
                field=field("spec.topologyConstraint.packDomain"),
                called="domain",
            ),
            id="hierarchy: a service is equal to or narrower than the deployment",
            marks=pytest.mark.requirement("D8"),
        ),
        pytest.param(
            lambda spec: spec["topologyConstraint"].update(packDomain="region"),
            line(
                grove.UNKNOWN_DOMAIN,
                "spec.topologyConstraint.packDomain",
                topology="grove-topology",
                domain="region",
                remedy=OneOf("region", ("zone", "block", "rack", "host")),
            ),
            id="topology: a domain is a level of the cluster's topology",
            marks=pytest.mark.requirement("D27"),
        ),
    ],
)
@pytest.mark.requirement("D8", "D10", "D26", "D27")
def test_validation_on_create(edit: Any, want: str, tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump(changed("mixed", edit)))

    assert refused(TOPOLOGY, tmp_path / "graph.yaml") == [want]


@pytest.mark.requirement("D9")
def test_validation_on_create_a_service_may_name_the_domain_of_the_deployment(tmp_path: Path) -> None:
    given = changed("mixed", lambda spec: spec["services"][0]["topologyConstraint"].update(packDomain="zone"))
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump(given))

    (made,) = translated("grove", TOPOLOGY, tmp_path / "graph.yaml")

    assert domain(made["spec"]["template"]) == "zone"
    assert parts(made["spec"]["template"], "podCliqueScalingGroups") == {"vllmworker": "zone"}


@pytest.mark.requirement("D28")
@pytest.mark.parametrize("name", ["deployment-level", "mixed", "service-level"])
def test_validation_on_create_without_a_topology_that_can_be_read_it_is_rejected(name: str) -> None:
    """Who validates a file alone cannot know what the cluster has; who plans or admits it can."""
    status, outcomes = planned(FOLDER / f"{name}.yaml")
    problems = [problem for outcome in outcomes.values() for problem in outcome["problems"]]
    message = line(grove.NO_BINDING_MEANT, name="grove-topology", remedy=OneOf("grove-topology", ()))

    assert (status, {outcome["status"] for outcome in outcomes.values()}) == (2, {"invalid"})
    assert problems
    assert {(problem["code"], problem["message"]) for problem in problems} == {
        (grove.NO_BINDING_MEANT.name, message)
    }


@pytest.mark.parametrize(
    ("edit", "want"),
    [
        pytest.param(
            lambda spec: spec.pop("topologyConstraint"),
            finding(
                dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED, "spec.topologyConstraint", done="removed from"
            ),
            id="removed",
        ),
        pytest.param(
            lambda spec: spec["topologyConstraint"].update(packDomain="block"),
            field_changed("spec.topologyConstraint.packDomain", '"zone"', '"block"', KIND),
            id="changed",
        ),
        pytest.param(
            lambda spec: spec["services"][1].update(topologyConstraint={"packDomain": "rack"}),
            finding(
                dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED,
                "spec.services[1].topologyConstraint",
                done="added to",
            ),
            id="added to a service",
        ),
        pytest.param(
            lambda spec: spec["services"][0].pop("topologyConstraint"),
            finding(
                dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED,
                "spec.services[0].topologyConstraint",
                done="removed from",
            ),
            id="removed from a service",
        ),
        pytest.param(
            lambda spec: spec["services"][0]["topologyConstraint"].update(packDomain="rack"),
            field_changed("spec.services[0].topologyConstraint.packDomain", '"block"', '"rack"', KIND),
            id="changed on a service",
        ),
    ],
)
def test_validation_on_update_topology_fields_are_immutable(edit: Any, want: Finding) -> None:
    old, new = (json.dumps(version) for version in (yaml.safe_load(text("mixed")), changed("mixed", edit)))

    assert forbidden_changes(KIND, old, new) == [want]


@pytest.mark.parametrize(
    ("levels", "want"),
    [
        pytest.param(
            ["zone", "rack"],
            ("True", "AllTopologyLevelsAvailable"),
            id="all levels are there",
            marks=pytest.mark.requirement("D40", "D44"),
        ),
        pytest.param(
            ["zone"],
            ("False", "TopologyLevelsUnavailable"),
            id="a level is gone",
            marks=pytest.mark.requirement("D41", "D44"),
        ),
        pytest.param(
            None,
            ("False", "TopologyDefinitionNotFound"),
            id="the topology is gone",
            marks=pytest.mark.requirement("D42", "D44"),
        ),
    ],
)
def test_status_and_observability_the_condition(levels: list[str] | None, want: tuple[str, str]) -> None:
    topologies = [topology({one: f"t/{one}" for one in levels})] if levels is not None else []

    (found,) = status("DynamoGraphDeployment", text("service-level"), *topologies).conditions

    assert (found.type, found.status, found.reason) == ("TopologyConstraintsEnforced", *want)
    if levels == ["zone"]:
        (_, shown) = yaml.safe_load(STATUS)["status"]["conditions"]
        assert asdict(found) == shown


def test_status_and_observability_a_deployment_with_the_example_status_is_read(tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_text(f"{text('service-level')}{STATUS}")
    made = journey(TOPOLOGY, tmp_path / "graph.yaml", to="grove", nodes=FOLDER / "nodes.yaml")

    assert made.placed
