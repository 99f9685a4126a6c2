"""What people read. A changed sentence is a changed line here."""

from __future__ import annotations

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Apart, Near, PodRule, PodSelector, Spread
from closeknit.hub.outcome import (
    Assignment,
    Choice,
    CountChange,
    Departure,
    DomainFit,
    Exclusion,
    ExclusionReason,
    GroupReach,
    Holder,
    LevelChange,
    Placed,
    Relaxation,
    RuleReach,
    Shortfall,
    Wishes,
)
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.shortfall import BehindStrictFifo, NoDomain, PodTooLarge, QuotaExceeded, QuotaScope
from closeknit.hub.topology import Level, Topology
from closeknit.scheduler import wording

RACK, BLOCK, ZONE = "topology/rack", "topology/block", "topology/zone"
TOPOLOGY = Topology("t", (Level(ZONE), Level(BLOCK), Level(RACK)))
REQUEST = Request(
    "default/sample1",
    Group(
        "default/sample1",
        (
            Group("subgroup-a", (PodSet("subgroup-a/1", 2), PodSet("subgroup-a/2", 1)), required=RACK),
            Group("subgroup-b", (PodSet("subgroup-b/1", 3),), required=RACK),
            Group("subgroup-c", (PodSet("default/1", 4),)),
        ),
    ),
    "t",
)


def shortfall(wanted: int, fits: int, level: str | None = RACK) -> Shortfall:
    return Shortfall("subgroup-b", NoDomain(level), wanted, fits, (), (), ())


@pytest.mark.parametrize(
    ("short", "sentence"),
    [
        pytest.param(
            shortfall(3, 2),
            "subgroup-b needs room for 3 pods in one topology/rack; the best has room for 2.",
            id="the best domain takes fewer pods than the group needs",
        ),
        pytest.param(
            replace(shortfall(3, 2), best=(DomainFit(("r",), 2, None, at_least=True),)),
            "subgroup-b needs room for 3 pods in one topology/rack; the best has room for at least 2.",
            id="the best domain may take more than was found",
        ),
        pytest.param(
            shortfall(1, 0),
            "subgroup-b needs room for 1 pod in one topology/rack; the best has none.",
            id="no domain takes a single pod",
        ),
        pytest.param(
            shortfall(8, 5, None),
            "subgroup-b needs room for 8 pods; the cluster has room for 5.",
            id="no level is required and the whole cluster is too small",
        ),
        pytest.param(
            shortfall(7, 7, None),
            "subgroup-b needs room for 7 pods. There is room by number, but not with everything that its"
            " parts ask for.",
            id="the pods fit by number and still cannot be placed together",
        ),
        pytest.param(
            replace(shortfall(3, 0), reason=PodTooLarge(RACK, "w", "nvidia.com/gpu", 16, 8)),
            "subgroup-b needs room for 3 pods in one topology/rack; the best has none.",
            id="one pod is larger than any node",
        ),
        pytest.param(
            replace(shortfall(3, 2), reason=QuotaExceeded(QuotaScope.FLAVOR)),
            "subgroup-b needs quota for 3 pods; there is quota for 2.",
            id="quota is left for some of the pods",
        ),
        pytest.param(
            replace(shortfall(3, 0), reason=QuotaExceeded(QuotaScope.QUEUE)),
            "subgroup-b needs quota for 3 pods; there is none left.",
            id="no quota is left",
        ),
        pytest.param(
            replace(shortfall(3, 0), reason=BehindStrictFifo("team")),
            "subgroup-b waits behind another of its queue, which nobody may pass (StrictFIFO).",
            id="an earlier workload of a strict queue is pending",
        ),
    ],
)
def test_a_shortfall_says_what_is_needed_and_what_is_there(short: Shortfall, sentence: str) -> None:
    assert wording.need(short) == sentence


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        pytest.param(
            DomainFit(("zone-a", "rack-2"), 2, "nvidia.com/gpu"),
            "zone-a/rack-2: room for 2 pods; nvidia.com/gpu runs out.",
            id="a resource runs out that nobody holds",
        ),
        pytest.param(
            DomainFit(
                ("zone-a",),
                1,
                "nvidia.com/gpu",
                (Holder("default/x", 2, 16), Holder("Job default/y", 1, 1024)),
            ),
            "zone-a: room for 1 pod; nvidia.com/gpu runs out,"
            " held by default/x (16 with 2 pods), Job default/y (1024 with 1 pod).",
            id="holders are named with what they hold, in plain numbers",
        ),
        pytest.param(
            DomainFit((), 0, "memory", (Holder("a", 1, 2**31),)),
            "the whole cluster: no room; memory runs out, held by a (2Gi with 1 pod).",
            id="the cluster has no path, and memory is written in its units",
        ),
        pytest.param(
            DomainFit(("r",), 0, "cpu", tuple(Holder(f"w{i}", 1, 10**9) for i in range(5))),
            "r: no room; cpu runs out,"
            " held by w0 (1 with 1 pod), w1 (1 with 1 pod), w2 (1 with 1 pod) and 2 more.",
            id="many holders are counted",
        ),
        pytest.param(DomainFit(("r",), 4, None), "r: room for 4 pods.", id="no resource limits it"),
        pytest.param(
            DomainFit(("r",), 4, None, at_least=True), "r: room for at least 4 pods.", id="more may fit"
        ),
        pytest.param(
            DomainFit(("r",), 0, None, at_least=True), "r: no room was found.", id="some may fit after all"
        ),
    ],
)
def test_a_domain_says_how_much_it_takes_and_what_stops_it(fit: DomainFit, sentence: str) -> None:
    assert wording.domain_fit(fit) == sentence


@pytest.mark.parametrize(
    ("excluded", "sentence"),
    [
        (Exclusion(ExclusionReason.UNLABELLED, RACK, 1), "1 node lacks the label topology/rack."),
        (Exclusion(ExclusionReason.UNLABELLED, RACK, 2), "2 nodes lack the label topology/rack."),
        (Exclusion(ExclusionReason.UNSCHEDULABLE, "", 2), "2 nodes are cordoned."),
        (Exclusion(ExclusionReason.NOT_READY, "", 1), "1 node is not ready."),
        (
            Exclusion(ExclusionReason.NODE_SELECTOR, "gpu=h100", 3),
            "3 nodes do not match the node selector gpu=h100.",
        ),
        (Exclusion(ExclusionReason.NODE_AFFINITY, "", 3), "3 nodes do not match the node affinity."),
        (
            Exclusion(ExclusionReason.TAINT, "a=b:NoSchedule", 4),
            "4 nodes have the taint a=b:NoSchedule, which is not tolerated.",
        ),
        (Exclusion(ExclusionReason.RESOURCE, "cpu", 1), "1 node has too little cpu free for one pod."),
        (Exclusion(ExclusionReason.PORT, "80/TCP", 1), "1 node has host port 80/TCP in use."),
        (
            Exclusion(ExclusionReason.TOPOLOGY_KEY, RACK, 1),
            "1 node does not count by topology/rack, which a rule about other pods names.",
        ),
        (
            Exclusion(ExclusionReason.ANTI_AFFINITY, RACK, 2),
            "2 nodes lie in domains of topology/rack with pods that these must not meet.",
        ),
        (
            Exclusion(ExclusionReason.EXISTING_ANTI_AFFINITY, RACK, 1),
            "1 node lies in a domain of topology/rack with pods that keep these away.",
        ),
        (
            Exclusion(ExclusionReason.POD_AFFINITY, RACK, 2),
            "2 nodes lie in domains of topology/rack without the pods that these must be near.",
        ),
        (
            Exclusion(ExclusionReason.SPREAD, RACK, 1),
            "1 node lies in a domain of topology/rack that has too many such pods already.",
        ),
    ],
    ids=lambda value: value.reason.value if isinstance(value, Exclusion) else "",
)
def test_an_exclusion_counts_nodes_and_says_why(excluded: Exclusion, sentence: str) -> None:
    assert wording.exclusion(excluded) == sentence


@pytest.mark.parametrize("reason", ExclusionReason, ids=lambda reason: reason.value)
def test_every_reason_for_an_exclusion_has_words_for_one_node_and_for_several(
    reason: ExclusionReason,
) -> None:
    one, several = (wording.exclusion(Exclusion(reason, "what", nodes)) for nodes in (1, 2))

    assert one.startswith("1 node ")
    assert several.startswith("2 nodes ")
    assert one.removeprefix("1 node ") != several.removeprefix("2 nodes ")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            [LevelChange("subgroup-b", BLOCK)],
            "Require topology/block instead of topology/rack for subgroup-b, and it can be placed.",
            id="a coarser level",
        ),
        pytest.param(
            [LevelChange("subgroup-b", None)],
            "Drop the required level topology/rack of subgroup-b, and it can be placed.",
            id="no level at all",
        ),
        pytest.param(
            [CountChange("subgroup-b/1", 2)],
            "Ask for 2 pods of subgroup-b instead of 3, and it can be placed.",
            id="fewer pods, named by the group that the user wrote",
        ),
        pytest.param(
            [CountChange("subgroup-a/2", 0)],
            "Ask for 0 pods of subgroup-a/2 instead of 1, and it can be placed.",
            id="one of several pod sets of a group is told apart by its number",
        ),
        pytest.param(
            [CountChange("default/1", 3)],
            "Ask for 3 pods of subgroup-c instead of 4, and it can be placed.",
            id="pods under a name that the user never wrote go by their group",
        ),
        pytest.param(
            [Departure(("default/x",))],
            "If workload default/x left, it could be placed.",
            id="another workload leaves",
        ),
        pytest.param(
            [Departure(("default/x", "default/y"))],
            "If workloads default/x and default/y left, it could be placed.",
            id="several workloads leave",
        ),
        pytest.param(
            [LevelChange("subgroup-a", BLOCK), LevelChange("subgroup-b", None)],
            "Require topology/block instead of topology/rack for subgroup-a"
            " and drop the required level topology/rack of subgroup-b, and it can be placed.",
            id="two changes together",
        ),
        pytest.param(
            [CountChange("subgroup-b/1", 1), Departure(("default/x",))],
            "If workload default/x left, ask for 1 pod of subgroup-b instead of 3, and it can be placed.",
            id="a departure and a change together",
        ),
    ],
)
def test_a_relaxation_is_advice(changes: list[LevelChange | CountChange | Departure], sentence: str) -> None:
    assert wording.relaxation(Relaxation(tuple(changes)), REQUEST) == sentence


def reached(
    level: str | None,
    *domains: str,
    required: str | None = None,
    preferred: str | None = None,
    satisfied: bool = True,
    count: int = 0,
) -> GroupReach:
    paths = tuple(tuple(domain.split("/")) for domain in domains)
    return GroupReach("g", None, required, preferred, level, paths, satisfied, count)


@pytest.mark.parametrize(
    ("group", "phrase"),
    [
        pytest.param(
            reached(RACK, "z/b/r", required=RACK), "in one topology/rack: z/b/r (required)", id="as required"
        ),
        pytest.param(
            reached(RACK, "z/b/r", required=BLOCK),
            "in one topology/rack: z/b/r (topology/block required)",
            id="closer than required",
        ),
        pytest.param(
            reached(RACK, "z/b/r", required=ZONE, preferred=RACK),
            "in one topology/rack: z/b/r (topology/zone required, topology/rack preferred)",
            id="as preferred, within what is required",
        ),
        pytest.param(reached(ZONE, "z"), "in one topology/zone: z", id="close without asking"),
        pytest.param(
            reached(RACK, "z/b/r1", "z/b/r2", preferred=RACK, satisfied=False),
            "over 2 domains of topology/rack, where one is preferred: z/b/r1, z/b/r2",
            id="a preference that does not hold",
        ),
        pytest.param(reached(None), "nothing placed", id="left out"),
        pytest.param(reached(None, count=3), "3 pods, no level shared", id="spread over the cluster"),
    ],
)
def test_a_group_says_how_close_it_came(group: GroupReach, phrase: str) -> None:
    assert wording.reach(group) == phrase


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        pytest.param(
            Choice("g", RACK, ("z", "b"), ("z", "b", "r1"), 4, 2, 3, ()),
            "g: 2 of 3 topology/rack in z/b have room for it; it took z/b/r1, where 4 pods would fit.",
            id="one of several",
        ),
        pytest.param(
            Choice("g", ZONE, (), ("z",), 1, 1, 2, ()),
            "g: of 2 topology/zone only z has room for it, where 1 pod would fit.",
            id="the only one with room",
        ),
        pytest.param(
            Choice("g", ZONE, (), ("z",), 9, 1, 1, ()),
            "g: there is one topology/zone, z, where 9 pods would fit.",
            id="no choice at all",
        ),
    ],
)
def test_a_choice_says_what_there_was_to_choose_from(choice: Choice, sentence: str) -> None:
    assert wording.choice(choice) == sentence


def placed(*, proven: bool = True, left_out: int = 0, preferences: tuple[int, ...] = (0, 0, 0)) -> Placed:
    return Placed(
        "default/sample1",
        (Assignment("p-0", "subgroup-b/1", "n1", ("z",)), Assignment("p-1", "subgroup-b/1", "n1", ("z",))),
        (reached(RACK, "z/b/r", preferred=RACK, satisfied=not any(preferences)),),
        Wishes(left_out, preferences, (1, 1, 2, 4)),
        proven,
    )


@pytest.mark.parametrize(
    ("outcome", "sentences"),
    [
        pytest.param(
            placed(),
            [
                "No pod is left out.",
                "Every preference for topology/rack is met.",
                "It uses 1 of topology/zone, 1 of topology/block, 2 of topology/rack, 4 nodes.",
                "No placement does better on these points.",
            ],
            id="all wishes met, and proven",
        ),
        pytest.param(
            placed(proven=False, left_out=1, preferences=(0, 0, 2)),
            [
                "1 pod above the minimum left out.",
                "The preferences for topology/rack are missed by a distance of 2 in all.",
                "It uses 1 of topology/zone, 1 of topology/block, 2 of topology/rack, 4 nodes.",
                "Not proven optimal: the search budget ended before every better placement was ruled out.",
            ],
            id="wishes missed, and not proven",
        ),
    ],
)
def test_wishes_are_told_from_the_most_important_down(outcome: Placed, sentences: list[str]) -> None:
    assert list(wording.wishes(outcome, TOPOLOGY)) == sentences


@pytest.mark.parametrize(
    ("rule", "reached", "sentence"),
    [
        pytest.param(
            Apart("kubernetes.io/hostname", PodSelector(), 100),
            [(3, 3), (1, 0)],
            "The preferred anti-affinity of workers by kubernetes.io/hostname is kept for 3 of 4 pods.",
            id="pod sets of one group are told together",
        ),
        pytest.param(
            Spread("zone", PodSelector(), required=False),
            [(4, 4)],
            "The preferred spreading of workers by zone is kept for all 4 pods.",
            id="every pod",
        ),
        pytest.param(
            Near(("rack",), PodSelector(), 1),
            [(1, 0)],
            "The preferred affinity of workers by rack is kept for no pod.",
            id="a single pod",
        ),
    ],
)
def test_preferred_rules_are_told_after_preferred_levels(
    rule: PodRule, reached: list[tuple[int, int]], sentence: str
) -> None:
    rules = tuple(RuleReach(f"workers/{i}", rule, *counts) for i, counts in enumerate(reached))

    assert list(wording.wishes(replace(placed(), rules=rules), TOPOLOGY))[2] == sentence


def test_a_placement_of_a_request_without_topology_tells_its_nodes_only() -> None:
    outcome = Placed("r", (), (), Wishes(0, (), (3,)), proven=True)

    assert "It uses 3 nodes." in list(wording.wishes(outcome, None))


def test_the_size_of_a_placement_names_what_it_could_not_do() -> None:
    assert wording.size(placed()) == "2 pods on 1 node"
    assert (
        wording.size(placed(proven=False, left_out=3))
        == "2 pods on 1 node, 3 pods above the minimum left out, not proven optimal"
    )


def test_control_characters_in_names_cannot_reach_a_terminal() -> None:
    assert wording.printable("a\x1b[31mb\nc") == "a\\x1b[31mb\\nc"
    assert wording.printable("größe-中文") == "größe-中文"
