"""What annotations may ask for, and where they may stand."""

from __future__ import annotations

from typing import Any

import pytest

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
from tests.unit.dialects.kueue.problems import OWN, TEMPLATE, at, found

LONG = f"example.com/{'rack' * 13}"
"""A label's key of 64 characters, which may be a level of a Topology."""


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_required_topology": RACK, "podset_preferred_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "podset-preferred-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
                )
            ],
            id="required and preferred exclude each other",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_unconstrained_topology": "true"},
            [
                at(
                    TEMPLATE,
                    "podset-unconstrained-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
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
            [
                at(
                    TEMPLATE,
                    "podset-unconstrained-topology",
                    '"yes" is not a truth value. Write "true", or leave it out.',
                )
            ],
            id="unconstrained takes true or false",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "prefer_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "prefer-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
                )
            ],
            id="the early words and today's exclude each other",
        ),
        pytest.param(
            {"podset_required_topology": "example.com/rak"},
            [
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    f'Topology "tree" has no level "example.com/rak". Did you mean "{RACK}"? Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
                )
            ],
            id="a required level must be one of the topology's",
        ),
        pytest.param(
            {"require_topology": "shelf"},
            [
                at(
                    TEMPLATE,
                    "require-topology",
                    f'Topology "tree" has no level "shelf". Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
                )
            ],
            id="the value of require-topology is one of the labels",
        ),
        pytest.param(
            {"prefer_topology": "shelf"},
            [
                at(
                    TEMPLATE,
                    "prefer-topology",
                    f'Topology "tree" has no level "shelf". Allowed: "auto", "{BLOCK}", "{RACK}", "{HOST}".',
                )
            ],
            id="the value of prefer-topology is one of the labels, or auto",
        ),
        pytest.param({"prefer_topology": "auto"}, [], id="auto is allowed in prefer-topology"),
        pytest.param(
            {"require_topology": "auto"},
            [
                at(
                    TEMPLATE,
                    "require-topology",
                    f'"auto" is allowed in {K}prefer-topology only. Name the node label of a level.',
                )
            ],
            id="auto is not allowed in require-topology",
        ),
        pytest.param(
            {"podset_required_topology": ""},
            [
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    "The level is missing. Name the node label of a level.",
                )
            ],
            id="a level must be named",
        ),
        pytest.param(
            {"podset_required_topology": LONG},
            [
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    "The name of the level is too long: Workloads take 63 characters of a label."
                    " Label the nodes with a shorter key.",
                ),
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    f'Topology "tree" has no level "{LONG}". Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
                ),
            ],
            id="a level's name is one that a Workload takes",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_topology_spreading": BLOCK},
            [
                at(
                    TEMPLATE,
                    "podset-topology-spreading",
                    "Spreading over domains is not taken into account when pods are placed. Leave it out.",
                ),
            ],
            id="spreading is not passed over",
        ),
        pytest.param(
            {"podset_require_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "podset-require-topology",
                    f'There is no annotation "{K}podset-require-topology". Did you mean "{K}podset-required-topology"?',
                )
            ],
            id="a misspelt annotation is not passed over",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_group_name": "7"},
            [
                at(
                    TEMPLATE,
                    "podset-group-name",
                    '"7" is not the name of a group. Write a word, not a number.',
                ),
                at(TEMPLATE, "podset-group-name", 'Group "7" has 1 pod sets. A group has exactly two.'),
            ],
            id="a group's name is not a number",
        ),
    ],
)
def test_annotations_of_a_pod_template(asked: dict[str, Any], want: list[str]) -> None:
    assert found(*QUEUES, job(**asked)) == want


@pytest.mark.parametrize(
    ("jobs", "want"),
    [
        pytest.param(
            [
                replicated("leader", 1, 1, podset_required_topology=RACK, podset_group_name="g"),
                replicated("workers", 1, 3, podset_required_topology=BLOCK, podset_group_name="g"),
            ],
            'spec.replicatedJobs[1].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            ' Both pod sets of group "g" must require or prefer the same level.',
            id="leader and workers ask for the same level",
        ),
        pytest.param(
            [
                replicated("a", 1, 2, podset_required_topology=RACK, podset_group_name="g"),
                replicated("b", 1, 3, podset_required_topology=RACK, podset_group_name="g"),
            ],
            'spec.replicatedJobs[1].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            ' No pod set of group "g" has one pod. One of the two is the leader.',
            id="one pod set of a group has one pod",
        ),
        pytest.param(
            [replicated("a", 1, 1, podset_unconstrained_topology="true", podset_group_name="g")],
            'spec.replicatedJobs[0].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            " A group needs a level to share. Give kueue.x-k8s.io/podset-required-topology or"
            " kueue.x-k8s.io/podset-preferred-topology as well.",
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
            'spec.replicatedJobs[0].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            " Pod sets of a group cannot be cut into slices. Leave out one of the two.",
            id="pod sets of a group have no slices",
        ),
        pytest.param(
            [replicated("a", 1, 2), replicated("a", 1, 2)],
            'spec.replicatedJobs[1].name: "a" is already the name of spec.replicatedJobs[0]. Rename one.',
            id="two replicated jobs have two names",
        ),
        pytest.param(
            [replicated("a", -1, 2)],
            "spec.replicatedJobs[0].replicas: -1 is negative. Write zero or more.",
            id="there is no negative number of Jobs",
        ),
        pytest.param(
            [replicated("a", 20_000, 20_000)],
            "spec.replicatedJobs[0].replicas: These are 400000000 pods. At most 150000 can be asked for.",
            id="a JobSet cannot ask for more pods than a cluster can have",
        ),
    ],
)
def test_replicated_jobs(jobs: list[dict[str, Any]], want: str) -> None:
    assert want in found(*QUEUES, job_set(*jobs))


def test_todays_annotations_on_the_job_itself_are_not_passed_over() -> None:
    want = at(OWN, "podset-required-topology", f"This counts on a pod template only. Move it to {TEMPLATE}.")

    assert found(*QUEUES, job(own={"podset-required-topology": RACK})) == [want]


@pytest.mark.requirement("K39")
def test_the_early_annotations_stand_on_the_job_or_on_its_template_but_not_on_both() -> None:
    both = job(own={"require-topology": RACK}, require_topology=RACK)

    want = at(
        OWN, "require-topology", "The pod template asks for a topology as well. Leave out one of the two."
    )
    assert found(*QUEUES, both) == [want]
