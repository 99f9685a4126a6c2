"""Requests of any dialect in Kueue's words: what is written, what is left out, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.closeknit_keys import LEFT_OUT
from closeknit.dialects.kueue.express import express
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kueue
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.kueue.kit import BLOCK, HOST, RACK, K

TREE = Topology("tree", (Level(BLOCK), Level(RACK), Level(HOST)))


def pods(name: str, count: int, gpus: int = 1, minimum: int | None = None) -> PodSet:
    return PodSet(f"{name}/1", count, Resources({"nvidia.com/gpu": gpus}), minimum)


def said(root: Group, over: str | None = "tree") -> dict[str, dict[str, Any]]:
    workload = PlaceableWorkload(
        ObjectName("v1", "X", "ns", "train"), "test", Request("ns/train", root, over)
    )
    return {each["kind"]: each for each in express(workload, {"tree": TREE})}


def template_annotations(made: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    jobs = made["JobSet"]["spec"]["replicatedJobs"]
    found = [each["template"]["spec"]["template"].get("metadata", {}).get("annotations", {}) for each in jobs]
    return [{key.removeprefix(K): value for key, value in each.items()} for each in found]


@pytest.mark.parametrize(
    ("root", "want", "sizes"),
    [
        pytest.param(
            Group("r", (pods("a", 4),), RACK),
            [{"podset-required-topology": RACK}],
            [(1, 4)],
            id="a group of one pod set is that pod set",
        ),
        pytest.param(
            Group("r", tuple(Group(f"s{i}", (pods(f"s{i}", 2),), RACK) for i in range(3)), BLOCK),
            [
                {
                    "podset-required-topology": BLOCK,
                    "podset-slice-required-topology": RACK,
                    "podset-slice-size": "2",
                }
            ],
            [(3, 2)],
            id="equal groups are slices of one replicated job",
        ),
        pytest.param(
            Group("r", (pods("leader", 1, gpus=0), pods("workers", 4)), RACK),
            [{"podset-required-topology": RACK, "podset-group-name": "r-group"}] * 2,
            [(1, 1), (1, 4)],
            id="a leader and its workers are a group of pod sets",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK), Group("b", (pods("b", 3),), None, HOST))),
            [{"podset-required-topology": RACK}, {"podset-preferred-topology": HOST}],
            [(1, 2), (1, 3)],
            id="groups that share nothing are replicated jobs of their own",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK),), BLOCK),
            [{"podset-required-topology": RACK}],
            [(1, 2)],
            id="the finer of two required levels implies the other",
        ),
        pytest.param(
            Group("r", (pods("a", 2), pods("b", 3)), RACK),
            [{"podset-required-topology": RACK}],
            [(1, 5)],
            id="equal pods that share a domain are one pod set, however they were counted",
        ),
        pytest.param(
            Group("r", (pods("a", 2), Group("g", (pods("b", 3),))), RACK),
            [{"podset-required-topology": RACK}],
            [(1, 5)],
            id="a group without a level is no more than its members",
        ),
        pytest.param(
            Group(
                "r",
                (
                    Group("a", (pods("a", 2),), RACK),
                    Group("b", (pods("b", 2, gpus=2),), RACK),
                    Group("c", (pods("c", 2),), RACK),
                ),
            ),
            [
                {"podset-slice-required-topology": RACK, "podset-slice-size": "2"},
                {"podset-required-topology": RACK},
            ],
            [(2, 2), (1, 2)],
            id="equal groups are slices wherever they stand",
        ),
        pytest.param(
            Group(
                "r",
                (Group("a", (pods("leader", 1, gpus=2),), HOST), Group("b", (pods("workers", 4),), RACK)),
                RACK,
            ),
            [{"podset-required-topology": RACK, "podset-group-name": "r-group"}] * 2,
            [(1, 1), (1, 4)],
            id="levels that hold anyway do not keep a leader from its workers",
        ),
        pytest.param(
            Group("r", (Group("g", (pods("leader", 1, gpus=2), pods("workers", 4)), RACK),), BLOCK),
            [{"podset-required-topology": RACK, "podset-group-name": "r-group"}] * 2,
            [(1, 1), (1, 4)],
            id="a group around a leader and its workers gives way to the finer level",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), None, RACK), Group("b", (pods("b", 2),), None, RACK))),
            [{"podset-preferred-topology": RACK}] * 2,
            [(1, 2), (1, 2)],
            id="equal groups that each prefer a level are not told to prefer it together",
        ),
        pytest.param(
            Group("r", (pods("a", 2), pods("none", 0, gpus=2)), RACK, minimum=2),
            [{"podset-required-topology": RACK}],
            [(1, 2)],
            id="a member without pods counts as formed",
        ),
        pytest.param(
            Group(
                "r",
                tuple(
                    Group(
                        f"g{n}",
                        tuple(Group(f"g{n}s{i}", (pods(f"g{n}s{i}", 2),), HOST) for i in range(n)),
                        RACK,
                    )
                    for n in (2, 3)
                ),
            ),
            [
                {
                    "podset-required-topology": RACK,
                    "podset-slice-required-topology": HOST,
                    "podset-slice-size": "2",
                }
            ]
            * 2,
            [(2, 2), (3, 2)],
            id="groups of two sizes are no slices of each other",
        ),
    ],
)
def test_a_tree_in_kueues_words(
    root: Group, want: list[dict[str, str]], sizes: list[tuple[int, int]]
) -> None:
    made = said(root)
    jobs = made["JobSet"]["spec"]["replicatedJobs"]

    assert template_annotations(made) == want
    assert [(each["replicas"], each["template"]["spec"]["parallelism"]) for each in jobs] == sizes
    assert made["ResourceFlavor"]["spec"]["topologyName"] == "tree"
    assert made["JobSet"]["metadata"]["labels"] == {f"{K}queue-name": made["LocalQueue"]["metadata"]["name"]}


@pytest.mark.parametrize(
    ("root", "least", "want"),
    [
        pytest.param(
            Group("r", (pods("a", 4, minimum=2),), RACK),
            "2",
            {"podset-required-topology": RACK},
            id="pods above the minimum",
        ),
        pytest.param(
            Group("r", tuple(Group(f"s{i}", (pods(f"s{i}", 2),), RACK) for i in range(2)), BLOCK, minimum=1),
            "2",
            {
                "podset-required-topology": BLOCK,
                "podset-slice-required-topology": RACK,
                "podset-slice-size": "2",
            },
            id="equal slices of which some are enough",
        ),
        pytest.param(
            Group("r", tuple(Group(f"s{i}", (pods(f"s{i}", 1),), HOST) for i in range(4)), minimum=3),
            "3",
            {},
            id="single pods of which some are enough",
        ),
    ],
)
def test_where_fewer_pods_will_do_it_is_a_job(root: Group, least: str, want: dict[str, str]) -> None:
    made = said(root)["Job"]
    template = made["spec"]["template"].get("metadata", {}).get("annotations", {})

    assert made["metadata"]["annotations"] == {f"{K}job-min-parallelism": least}
    assert (made["spec"]["parallelism"], made["spec"]["completions"]) == (4, 4)
    assert {key.removeprefix(K): value for key, value in template.items()} == want


def test_the_queue_has_just_the_quota_that_is_needed() -> None:
    (group,) = said(Group("r", (pods("a", 4, gpus=2),)))["ClusterQueue"]["spec"]["resourceGroups"]

    amounts = {each["name"]: each["nominalQuota"] for each in group["flavors"][0]["resources"]}
    assert amounts == {"nvidia.com/gpu": "8", "pods": "4"}


def test_wishes_that_kueue_cannot_say_are_left_out_and_listed() -> None:
    made = said(Group("r", (pods("a", 4),), BLOCK, RACK))

    assert template_annotations(made) == [{"podset-required-topology": BLOCK}]
    (left_out,) = made["JobSet"]["metadata"]["annotations"].items()
    assert left_out[0] == LEFT_OUT
    assert {"r", RACK} <= set(left_out[1].split())


@pytest.mark.parametrize(
    ("root", "want"),
    [
        pytest.param(
            Group("r", (pods("a", 2), pods("b", 3, gpus=2), pods("c", 4, gpus=4)), RACK),
            finding(kueue.SETS_SHARE_LEVEL, "JobSet", level=RACK, name="r", sets=3),
            id="three pod sets in one rack",
        ),
        pytest.param(
            Group("r", (pods("a", 4, minimum=2), pods("b", 1, gpus=2))),
            finding(kueue.MINIMUM_OF_ONE_JOB, "JobSet", least=2, name="a/1", pods=4, sets=2),
            id="pods above the minimum beside others",
        ),
        pytest.param(
            Group("r", (pods("a", 4, minimum=0),)),
            finding(kueue.NONE_MUST_RUN, "JobSet", name="a/1"),
            id="pods of which none must run",
        ),
        pytest.param(
            Group("r", (pods("a", 2), pods("none", 0)), minimum=1),
            finding(kueue.MINIMUM_OF_MEMBERS, "JobSet", least=0, members=1, name="r"),
            id="enough members that have no pods",
        ),
        pytest.param(
            Group("r", (pods("x", 2), Group("g", (pods("a", 2), pods("b", 2)), minimum=1))),
            finding(kueue.MINIMUM_OF_MEMBERS, "JobSet", least=1, members=2, name="g"),
            id="groups inside of which some are enough",
        ),
        pytest.param(
            Group(
                "r",
                (pods("a", 2), replace(pods("b", 2), filter=NodeFilter(selector=(("pool", "spot"),)))),
                RACK,
            ),
            finding(kueue.SETS_SHARE_LEVEL, "JobSet", level=RACK, name="r", sets=2),
            id="pods that run on different nodes in one rack",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),)), Group("b", (pods("b", 2),))), minimum=1),
            finding(kueue.MINIMUM_OF_MEMBERS, "JobSet", least=1, members=2, name="r"),
            id="groups without a level of which some are enough",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK), Group("b", (pods("b", 3),), RACK)), minimum=1),
            finding(kueue.MINIMUM_OF_MEMBERS, "JobSet", least=1, members=2, name="r"),
            id="groups of two sizes of which some are enough",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK), Group("b", (pods("b", 2),), RACK)), minimum=0),
            finding(kueue.MINIMUM_OF_MEMBERS, "JobSet", least=0, members=2, name="r"),
            id="slices of which none is needed",
        ),
        pytest.param(
            Group("r", tuple(Group(f"g{i}", (pods(f"g{i}", 4, minimum=2),), RACK) for i in range(2))),
            finding(kueue.MINIMUM_OF_ONE_JOB, "JobSet", least=2, name="g0/1", pods=4, sets=2),
            id="slices that may be smaller",
        ),
        pytest.param(
            Group("r", (pods("leader", 1, gpus=2), pods("workers", 4, minimum=2)), RACK),
            finding(kueue.SETS_SHARE_LEVEL, "JobSet", level=RACK, name="r", sets=2),
            id="workers beside a leader that may be fewer",
        ),
        pytest.param(
            Group("r", tuple(Group(f"g{i}", (pods(f"g{i}", 2, gpus=1 + i),)) for i in range(19))),
            finding(kueue.TOO_MANY_POD_SETS, "JobSet", given=19, most=18),
            id="more pod sets than a Workload takes",
        ),
        pytest.param(Group("r", ()), finding(kueue.NO_PODS, "JobSet"), id="no pods at all"),
    ],
)
def test_what_kueue_has_no_words_for_is_refused(root: Group, want: Finding) -> None:
    with pytest.raises(InvalidError) as refused:
        said(root)

    assert want in findings(refused.value.problems)


def test_a_level_whose_name_is_too_long_for_a_workload_is_refused() -> None:
    long = f"example.com/{'rack' * 13}"
    request = Request("ns/train", Group("r", (pods("a", 4),), long), "long")
    workload = PlaceableWorkload(ObjectName("v1", "X", "ns", "train"), "test", request)

    with pytest.raises(InvalidError) as refused:
        list(express(workload, {"long": Topology("long", (Level(long),))}))
    assert findings(refused.value.problems) == [
        finding(kueue.LEVEL_NAME_TOO_LONG, "JobSet", level=long, most=63)
    ]
