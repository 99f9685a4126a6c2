"""What annotations may ask for, and where they may stand."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import hub, kueue
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    job,
    job_set,
    replicated,
)
from tests.unit.dialects.kueue.problems import OWN, TEMPLATE, annotation, reported_anywhere

LONG = f"example.com/{'rack' * 13}"
"""A label's key of 64 characters, which may be a level of a Topology."""
REQUIRED, PREFERRED = f"{K}podset-required-topology", f"{K}podset-preferred-topology"


def unknown(key: str, level: str, *allowed: str) -> Finding:
    """A level that the topology does not have; the allowed ones are listed from the coarsest on."""
    remedy = OneOf(level, allowed)
    return finding(hub.UNKNOWN_LEVEL, annotation(TEMPLATE, key), topology="tree", level=level, remedy=remedy)


def group_of(replicated_job: str) -> str:
    """The path of the annotation that names the group of a replicated job's pods."""
    return annotation(f"{replicated_job}.template.{TEMPLATE}", "podset-group-name")


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_required_topology": RACK, "podset_preferred_topology": RACK},
            [
                finding(
                    kueue.STANDS_AS_WELL, annotation(TEMPLATE, "podset-preferred-topology"), other=REQUIRED
                )
            ],
            id="required and preferred exclude each other",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_unconstrained_topology": "true"},
            [
                finding(
                    kueue.STANDS_AS_WELL,
                    annotation(TEMPLATE, "podset-unconstrained-topology"),
                    other=REQUIRED,
                )
            ],
            id="required and unconstrained exclude each other",
        ),
        pytest.param(
            {"podset_preferred_topology": RACK, "podset_unconstrained_topology": "false"},
            [],
            id="unconstrained set to false says nothing",
        ),
        pytest.param(
            {"podset_unconstrained_topology": "yes"},
            [finding(kueue.NOT_TRUE, annotation(TEMPLATE, "podset-unconstrained-topology"), written="yes")],
            id="unconstrained takes true or false",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "prefer_topology": RACK},
            [finding(kueue.STANDS_AS_WELL, annotation(TEMPLATE, "prefer-topology"), other=REQUIRED)],
            id="the early words and today's exclude each other",
        ),
        pytest.param(
            {"podset_required_topology": "example.com/rak"},
            [unknown("podset-required-topology", "example.com/rak", BLOCK, RACK, HOST)],
            id="a required level must be one of the topology's",
        ),
        pytest.param(
            {"require_topology": "shelf"},
            [unknown("require-topology", "shelf", BLOCK, RACK, HOST)],
            id="the value of require-topology is one of the labels",
        ),
        pytest.param(
            {"prefer_topology": "shelf"},
            [unknown("prefer-topology", "shelf", BLOCK, RACK, HOST, "auto")],
            id="the value of prefer-topology is one of the labels, or auto",
        ),
        pytest.param({"prefer_topology": "auto"}, [], id="auto is allowed in prefer-topology"),
        pytest.param(
            {"require_topology": "auto"},
            [
                finding(
                    kueue.AUTO_NOT_REQUIRED,
                    annotation(TEMPLATE, "require-topology"),
                    field=f"{K}prefer-topology",
                )
            ],
            id="auto is not allowed in require-topology",
        ),
        pytest.param(
            {"podset_required_topology": ""},
            [finding(kueue.LEVEL_MISSING, annotation(TEMPLATE, "podset-required-topology"))],
            id="a level must be named",
        ),
        pytest.param(
            {"podset_required_topology": LONG},
            [
                finding(kueue.LEVEL_TOO_LONG, annotation(TEMPLATE, "podset-required-topology"), most=63),
                unknown("podset-required-topology", LONG, BLOCK, RACK, HOST),
            ],
            id="a level's name is one that a Workload takes",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_topology_spreading": BLOCK},
            [
                finding(kueue.SPREADING, annotation(TEMPLATE, "podset-topology-spreading")),
            ],
            id="spreading is not passed over",
        ),
        pytest.param(
            {"podset_require_topology": RACK},
            [
                finding(
                    kueue.NO_SUCH_ANNOTATION,
                    annotation(TEMPLATE, "podset-require-topology"),
                    found=f"{K}podset-require-topology",
                    meant=REQUIRED,
                )
            ],
            id="a misspelt annotation is not passed over",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_group_name": "7"},
            [
                finding(kueue.GROUP_NAME, annotation(TEMPLATE, "podset-group-name"), name="7"),
                finding(kueue.GROUP_OF_TWO, annotation(TEMPLATE, "podset-group-name"), group="7", members=1),
            ],
            id="a group's name is not a number",
        ),
    ],
)
def test_annotations_of_a_pod_template(asked: dict[str, Any], want: list[Finding]) -> None:
    assert reported_anywhere(*QUEUES, job(**asked)) == want


@pytest.mark.parametrize(
    ("jobs", "want"),
    [
        pytest.param(
            [
                replicated("leader", 1, 1, podset_required_topology=RACK, podset_group_name="g"),
                replicated("workers", 1, 3, podset_required_topology=BLOCK, podset_group_name="g"),
            ],
            finding(kueue.GROUP_LEVELS, group_of("spec.replicatedJobs[1]"), group="g"),
            id="leader and workers ask for the same level",
        ),
        pytest.param(
            [
                replicated("a", 1, 2, podset_required_topology=RACK, podset_group_name="g"),
                replicated("b", 1, 3, podset_required_topology=RACK, podset_group_name="g"),
            ],
            finding(kueue.GROUP_LEADER, group_of("spec.replicatedJobs[1]"), group="g"),
            id="one pod set of a group has one pod",
        ),
        pytest.param(
            [replicated("a", 1, 1, podset_unconstrained_topology="true", podset_group_name="g")],
            finding(
                kueue.GROUP_WITHOUT_LEVEL,
                group_of("spec.replicatedJobs[0]"),
                preferred=PREFERRED,
                required=REQUIRED,
            ),
            id="a group needs a level",
        ),
        pytest.param(
            [
                replicated(
                    "a",
                    1,
                    2,
                    podset_required_topology=BLOCK,
                    podset_group_name="g",
                    podset_slice_required_topology=RACK,
                    podset_slice_size="1",
                )
            ],
            finding(kueue.GROUP_WITH_SLICES, group_of("spec.replicatedJobs[0]")),
            id="pod sets of a group have no slices",
        ),
        pytest.param(
            [replicated("a", 1, 2), replicated("a", 1, 2)],
            finding(
                kueue.NAME_TAKEN,
                "spec.replicatedJobs[1].name",
                first=Field(("spec", "replicatedJobs", 0)),
                name="a",
            ),
            id="two replicated jobs have two names",
        ),
        pytest.param(
            [replicated("a", -1, 2)],
            finding(hub.NEGATIVE, "spec.replicatedJobs[0].replicas", value=-1),
            id="there is no negative number of Jobs",
        ),
        pytest.param(
            [replicated("a", 20_000, 20_000)],
            finding(
                kueue.TOO_MANY_PODS,
                "spec.replicatedJobs[0].replicas",
                more="",
                most=150_000,
                pods=400_000_000,
            ),
            id="a JobSet cannot ask for more pods than a cluster can have",
        ),
    ],
)
def test_replicated_jobs(jobs: list[dict[str, Any]], want: Finding) -> None:
    assert want in reported_anywhere(*QUEUES, job_set(*jobs))


def test_todays_annotations_on_the_job_itself_are_not_passed_over() -> None:
    want = finding(
        kueue.MISPLACED,
        annotation(OWN, "podset-required-topology"),
        right=Field(("spec", "template", "metadata", "annotations")),
    )

    assert reported_anywhere(*QUEUES, job(own={"podset-required-topology": RACK})) == [want]


@pytest.mark.requirement("K39")
def test_the_early_annotations_stand_on_the_job_or_on_its_template_but_not_on_both() -> None:
    both = job(own={"require-topology": RACK}, require_topology=RACK)

    want = finding(kueue.TOPOLOGY_TWICE, annotation(OWN, "require-topology"))
    assert reported_anywhere(*QUEUES, both) == [want]
