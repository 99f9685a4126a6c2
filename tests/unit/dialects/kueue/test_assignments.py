"""Assignments in both forms, both ways."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.apis import kueue_x_k8s_io_v1beta2 as v1beta2
from closeknit.apis.wire import plain
from closeknit.dialects.kueue.assignments import (
    MOST_SLICES,
    Assigned,
    assigned,
    from_written,
    to_domains,
    to_slices,
)
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import kueue
from closeknit.hub.topology import Level, Topology
from tests.kit.problems import Finding, finding, findings

HOST = "kubernetes.io/hostname"
HOSTS = 100_000


def test_values_that_all_domains_share_are_written_once() -> None:
    given = Assigned(("block", "rack"), ((("block-1", "rack-1"), 4), (("block-1", "rack-2"), 2)))

    assert plain(to_slices(given)) == {
        "levels": ["block", "rack"],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [
                    {"universal": "block-1"},
                    {"individual": {"prefix": "rack-", "roots": ["1", "2"]}},
                ],
                "podCounts": {"individual": [4, 2]},
            }
        ],
    }


def test_both_ends_of_names_are_written_once() -> None:
    names = [f"pool-1-node-{i}.example.com" for i in range(1, 6)]
    made = to_slices(Assigned((HOST,), tuple(((name,), 1) for name in names)))

    (only,) = made.slices
    assert plain(only) == {
        "domainCount": 5,
        "valuesPerLevel": [
            {
                "individual": {
                    "prefix": "pool-1-node-",
                    "suffix": ".example.com",
                    "roots": ["1", "2", "3", "4", "5"],
                }
            }
        ],
        "podCounts": {"universal": 1},
    }


def test_a_name_that_begins_another_keeps_a_root_of_its_own() -> None:
    given = Assigned((HOST,), ((("node",), 1), (("node1",), 1), (("nodee",), 2)))

    made = to_slices(given)
    assert from_written(made) == given
    assert all(root for piece in made.slices for level in piece.values_per_level if level.individual for root in level.individual.roots)  # fmt: skip


def test_the_older_form_writes_every_domain() -> None:
    given = Assigned(("block", "rack"), ((("b1", "r1"), 4), (("b2", "r1"), 2)))

    assert plain(to_domains(given)) == {
        "levels": ["block", "rack"],
        "domains": [{"values": ["b1", "r1"], "count": 4}, {"values": ["b2", "r1"], "count": 2}],
    }


words = st.text("ab-1.", min_size=1, max_size=8)


@given(
    st.integers(1, 3).flatmap(
        lambda depth: st.lists(
            st.tuples(st.tuples(*[words] * depth), st.integers(1, 5)),
            unique_by=lambda domain: domain[0],
            max_size=12,
        ).map(lambda domains: Assigned(tuple(f"l{i}" for i in range(depth)), tuple(domains)))
    )
)
def test_nothing_is_lost_in_either_form(given: Assigned) -> None:
    assert from_written(to_slices(given)) == given
    assert from_written(to_domains(given)) == given
    assert from_written(to_slices(from_written(to_domains(given)))) == given


@pytest.mark.parametrize(
    ("name", "bytes_at_most"),
    [
        pytest.param(
            lambda i: f"gke-cluster-pool-{i % 1000:04d}-{i % 1000 * 7919:08x}-{i // 1000:04d}",
            700_000,
            id="a hundred machines in each of a thousand pools",
        ),
        pytest.param(
            lambda i: f"block-{i // 1000:03d}-rack-{i // 20:05d}-node-{i:06d}.example",
            1_800_000,
            id="machines numbered through racks and blocks",
        ),
        pytest.param(lambda i: f"{i * 2654435761 % 2**32:08x}", 1_200_000, id="machines without any order"),
    ],
)
def test_a_hundred_thousand_nodes_are_written_small_and_read_back(name: object, bytes_at_most: int) -> None:
    assert callable(name)
    domains = sorted(((name(i),), 1 + i % 2) for i in range(HOSTS))
    given = Assigned((HOST,), tuple(domains))

    made = to_slices(given)
    assert len(made.slices) <= MOST_SLICES
    assert len(msgspec.json.encode(made)) <= bytes_at_most + 2 * HOSTS
    assert from_written(made) == given
    assert from_written(to_domains(given)) == given


@pytest.mark.requirement("K53")
@pytest.mark.parametrize(
    ("levels", "domains", "want"),
    [
        pytest.param(
            ("block", "rack"),
            [("b1", "r2"), ("b1", "r1"), ("b1", "r1")],
            Assigned(("block", "rack"), ((("b1", "r1"), 2), (("b1", "r2"), 1))),
            id="pods are counted by domain",
        ),
        pytest.param(
            ("block", HOST),
            [("b1", "n1"), ("b1", "n1")],
            Assigned((HOST,), ((("n1",), 2),)),
            id="hosts alone are named where they are the lowest level",
        ),
        pytest.param(
            ("rack", HOST),
            [("r1", "z"), ("r2", "a"), ("r1", "b"), ("r2", "y")],
            Assigned((HOST,), ((("b",), 1), (("z",), 1), (("a",), 1), (("y",), 1))),
            id="the hosts of one rack stand together, whatever their names",
        ),
    ],
)
def test_the_assignment_of_pods_to_domains(
    levels: tuple[str, ...], domains: list[tuple[str, ...]], want: Assigned
) -> None:
    assert assigned(domains, Topology("t", tuple(map(Level, levels)))) == want


@pytest.mark.parametrize(
    ("piece", "want"),
    [
        pytest.param(
            {"domainCount": 1, "valuesPerLevel": [], "podCounts": {"universal": 1}},
            [finding(kueue.ONE_FOR_EACH_LEVEL, "slices[0].valuesPerLevel", given=0)],
            id="each level has values",
        ),
        pytest.param(
            {"domainCount": 2, "valuesPerLevel": [{"universal": "a"}], "podCounts": {"individual": [1]}},
            [finding(kueue.ONE_FOR_EACH_DOMAIN, "slices[0].podCounts.individual", domains="2 domains", given="is 1")],
            id="each domain has a number of pods",
        ),
        pytest.param(
            {"domainCount": 2, "valuesPerLevel": [{"individual": {"roots": ["a"]}}], "podCounts": {"universal": 1}},
            [finding(kueue.ONE_FOR_EACH_DOMAIN, "slices[0].valuesPerLevel[0].individual.roots", domains="2 domains", given="is 1")],
            id="each domain has a value",
        ),
        pytest.param(
            {"domainCount": 1, "valuesPerLevel": [{}], "podCounts": {"universal": 1, "individual": [1]}},
            [finding(kueue.ONE_OF_TWO, "slices[0].valuesPerLevel[0]"), finding(kueue.ONE_OF_TWO, "slices[0].podCounts")],
            id="values are either shared or not",
        ),
    ],
)  # fmt: skip
def test_slices_that_contradict_themselves_are_refused(piece: dict[str, object], want: list[Finding]) -> None:
    given = msgspec.convert({"levels": ["l"], "slices": [piece]}, v1beta2.TopologyAssignment)

    with pytest.raises(InvalidError) as refused:
        from_written(given)
    assert findings(refused.value.problems) == want


def test_domains_with_too_few_values_are_refused() -> None:
    wrong = v1beta2.TopologyAssignment(
        levels=("a", "b"), domains=(v1beta2.TopologyDomainAssignment(values=("x",), count=1),)
    )

    with pytest.raises(InvalidError) as refused:
        from_written(wrong)
    assert findings(refused.value.problems) == [
        finding(kueue.ONE_FOR_EACH_LEVEL, "domains[0].values", given=1)
    ]
