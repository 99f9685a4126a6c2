"""Which devices claims get, and what is written into them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any

import pytest

from closeknit.dialects.core.allocated import devices_beside
from closeknit.dialects.core.allocating import allocations
from closeknit.dialects.core.claims import resolved_pods
from closeknit.dialects.core.devices import GROUP
from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.core.reserving import Reservation, letting_go, reserving
from closeknit.hub.keys import Key
from closeknit.hub.request import PodSet, Reference
from closeknit.hub.resources import Resources
from closeknit.live.entries import key_of
from closeknit.scheduler.cluster_state import ClusterState
from tests.filters.cases import Object, node
from tests.filters.claims import (
    DRIVER,
    GPUS,
    LARGE,
    MODEL_B,
    TAINT,
    claim,
    device,
    device_class,
    either,
    request,
    resource_slice,
)


def view_of(*objects: Object) -> Any:
    state = ClusterState()
    for obj in objects:
        group = obj["apiVersion"].rpartition("/")[0]
        kind = next(each for each in KINDS if (each.group, each.kind) == (group, obj["kind"]))
        key = key_of(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        state.heard(kind, obj["apiVersion"], key, obj)
    return state.view


def key(name: str) -> Key:
    return Key(GROUP, "ResourceClaim", "default", name)


def given(*objects: Object, to: str = "one") -> dict[str, list[str]]:
    """By claim, the devices that each of its requests gets on node a; nothing where some are missing."""
    made, problems = allocations(view_of(node("a"), node("b"), *objects), "a", map(key, to.split()))
    assert bool(made) != bool(problems)
    return {
        each.name: [f"{result['request']}={result['device']}" for result in written["devices"]["results"]]
        for each, written in made.items()
    }


def exactly(**fields: Any) -> Object:
    return {"name": "main", "exactly": {"deviceClassName": "gpus", **fields}}


BY_MODEL = [
    device_class(f"model-{each}", f"device.attributes['{DRIVER}'].model == '{each}'") for each in "ab"
]
TWO = resource_slice("a", [device("gpu-10"), device("gpu-2")])

CASES = [
    pytest.param(
        [TWO, claim("one", request("gpus"))], {"one": ["main=gpu-2"]}, id="the first device by its number"
    ),
    pytest.param(
        [TWO, claim("one", request("gpus", 2))], {"one": ["main=gpu-2", "main=gpu-10"]}, id="as many as asked"
    ),
    pytest.param([TWO, claim("one", request("gpus", 3))], {}, id="too few, so none"),
    pytest.param(
        [resource_slice("b", [device("0")]), claim("one", request("gpus"))], {}, id="none of another node"
    ),
    pytest.param(
        [TWO, claim("one", request("gpus")), claim("other", request("gpus"), allocated=[("a", "gpu-2")])],
        {"one": ["main=gpu-10"]},
        id="none that another claim has got",
    ),
    pytest.param(
        [
            resource_slice("a", [device("0", "b", "80Gi"), device("1", "a", "80Gi")]),
            claim("one", request("gpus", 1, LARGE, name="large"), request("gpus", 1, MODEL_B, name="b")),
        ],
        {"one": ["large=1", "b=0"]},
        id="where selectors overlap, who has a choice leaves the only one to the other",
    ),
    pytest.param(
        [
            resource_slice("a", [device("0", "b"), device("1")]),
            claim("one", request("gpus")),
            claim("other", request("gpus", 1, MODEL_B)),
        ],
        {"one": ["main=1"]},
        id="of equal choices, the one that fewest others could use",
    ),
    pytest.param([TWO, claim("one", request("gpus", every=True))],
                 {"one": ["main=gpu-2", "main=gpu-10"]}, id="all of a node"),
    pytest.param(
        [
            TWO,
            claim("one", request("gpus", every=True)),
            claim("other", request("gpus"), allocated=[("a", "gpu-2")]),
        ],
        {},
        id="all of a node, of which one is taken",
    ),
    pytest.param([claim("one", request("gpus", every=True)), resource_slice("b", [device("0")])],
                 {}, id="all of a node that has none"),
    pytest.param(
        [
            TWO,
            claim("one", exactly(adminAccess=True, count=2)),
            claim("other", request("gpus"), allocated=[("a", "gpu-2")]),
        ],
        {"one": ["main=gpu-2", "main=gpu-10"]},
        id="who looks after devices gets them whoever else has them",
    ),
    pytest.param(
        [
            device_class("best", "device.driver == 'nobody'"),
            TWO,
            claim(
                "one",
                {
                    "name": "main",
                    "firstAvailable": [
                        {"name": "first", "deviceClassName": "best"},
                        {"name": "second", "deviceClassName": "gpus"},
                    ],
                },
            ),
        ],
        {"one": ["main/second=gpu-2"]},
        id="of several alternatives the first of which there are devices",
    ),
    pytest.param(
        [
            *BY_MODEL,
            resource_slice("a", [device("0"), device("1", "b"), device("2", "b")]),
            claim("one", either(("model-a", 1), ("model-b", 2))),
            claim("other", request("model-a"), allocated=[("a", "0")]),
        ],
        {"one": ["main/model-b=1", "main/model-b=2"]},
        id="the second alternative where the devices of the first are taken",
    ),
    pytest.param(
        [
            *BY_MODEL,
            resource_slice("a", [device("0"), device("1", "b")]),
            claim("one", either(("model-a", 2), ("model-b", 2))),
        ],
        {},
        id="no devices of two alternatives together",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "want"), CASES)
def test_devices_of_a_claim(objects: list[Object], want: dict[str, list[str]]) -> None:
    assert given(GPUS, *objects) == want


def test_claims_on_one_node_get_theirs_together() -> None:
    slices = resource_slice("a", [device("0", "b"), device("1")])
    asked = [claim("any", request("gpus")), claim("only-b", request("gpus", 1, MODEL_B))]

    assert given(GPUS, slices, *asked, to="any only-b") == {"any": ["main=1"], "only-b": ["main=0"]}


def test_who_accepts_another_kind_leaves_the_first_to_who_does_not() -> None:
    slices = resource_slice("a", [device("0"), device("1", "b")])
    asked = [claim("either", either(("model-a", 1), ("model-b", 1))), claim("only", request("model-a"))]

    assert given(*BY_MODEL, slices, *asked, to="either only") == {
        "either": ["main/model-b=1"],
        "only": ["main=0"],
    }
    assert given(*BY_MODEL, slices, *asked, to="either") == {"either": ["main/model-a=0"]}


@pytest.mark.parametrize("seed", range(40))
def test_devices_that_share_counters_can_be_given_wherever_they_were_counted(seed: int) -> None:
    """Three devices with counters, and claims that their node has room for: all get theirs within the counters."""
    rng = Random(seed)
    models = {"whole": 4, "half": 2, "part": 1}
    devices, counters = [], []
    for i in range(3):
        counters.append({"name": f"gpu-{i}", "counters": {"slices": {"value": "4"}}})
        for model, slices in models.items():
            for j in range(rng.randrange(4 // slices + 1)):
                used = {"counterSet": f"gpu-{i}", "counters": {"slices": {"value": str(slices)}}}
                devices.append(device(f"{model}-{i}-{j}", model, consumesCounters=[used]))
    sets = resource_slice("a", [], resourceSliceCount=2)
    sets["metadata"]["name"] = "counters"
    sets["spec"]["sharedCounters"] = counters
    asked = rng.sample(sorted(models), rng.randrange(1, 4))
    claims = [
        claim(f"c{i}", request("gpus", rng.randrange(1, 3), MODEL_B.replace("'b'", f"'{rng.choice(asked)}'")))
        for i in range(rng.randrange(1, 6))
    ]
    held = rng.sample(devices, min(len(devices), rng.randrange(2)))
    taken = [claim("held", request("gpus"), allocated=[("a", each["name"])]) for each in held]
    view = view_of(node("a"), GPUS, sets, resource_slice("a", devices, resourceSliceCount=2), *claims, *taken)
    room, chosen = Counter(devices_beside(view, "a", Resources())), list[str]()
    for each in claims:
        read = PodSet("p", 1, claims=(Reference("ResourceClaim", each["metadata"]["name"]),))
        wanted = resolved_pods(view, "default", read)[0].resources
        if all(room[name] >= amount for name, amount in wanted.items()):
            room.subtract(wanted)
            chosen.append(each["metadata"]["name"])

    made, problems = allocations(view, "a", map(key, chosen))

    assert problems == []
    names = [result["device"] for each in made.values() for result in each["devices"]["results"]]
    given = [*names, *(each["name"] for each in held)]
    assert len(given) == len(set(given))
    used_up = Counter[str]()
    for name in given:
        model, gpu, _ = name.split("-")
        used_up[gpu] += models[model]
    assert all(amount <= 4 for amount in used_up.values())


def test_devices_are_found_exactly_where_some_order_of_giving_finds_them() -> None:
    """Against every order in which devices could be given to requests, one by one."""
    dice = Random(5)
    found = 0
    for _ in range(60):
        models = [dice.choice("abc") for _ in range(dice.randint(1, 5))]
        wanted = [dice.choice(["ab", "bc", "a", "b", "abc"]) for _ in range(dice.randint(1, 4))]
        slices = resource_slice("a", [device(str(i), model) for i, model in enumerate(models)])
        requests = [
            request("gpus", 1, f"device.attributes['{DRIVER}'].model in {list(each)}", name=f"r{i}")
            for i, each in enumerate(wanted)
        ]
        possible = any(
            all(models[i] in each for i, each in zip(order, wanted, strict=True))
            for order in permutations(range(len(models)), len(wanted))
        )
        got = given(GPUS, slices, claim("one", *requests))
        assert bool(got) == possible, (models, wanted)
        if got:
            found += 1
            devices = [int(each.partition("=")[2]) for each in sorted(got["one"])]
            assert len(set(devices)) == len(devices)
            assert all(models[i] in each for i, each in zip(devices, wanted, strict=True))
    assert 10 < found < 50


def test_what_is_written_tells_drivers_all_that_claim_and_class_say() -> None:
    configured = device_class("gpus", f"device.driver == '{DRIVER}'")
    parameters = {"opaque": {"driver": DRIVER, "parameters": {"sharing": "none"}}}
    configured["spec"]["config"] = [parameters]
    tolerant = exactly(tolerations=[{"key": "broken", "operator": "Exists"}])
    asked = claim("one", tolerant)
    asked["spec"]["devices"]["config"] = [
        {"requests": ["main"], **parameters},
        {"requests": ["another"], **parameters},
        parameters,
    ]
    slices = resource_slice("a", [device("0", taints=[TAINT])])
    made, _ = allocations(view_of(node("a"), configured, slices, asked), "a", [key("one")])

    assert made[key("one")] == {
        "devices": {
            "results": [
                {
                    "request": "main",
                    "driver": DRIVER,
                    "pool": "a",
                    "device": "0",
                    "tolerations": [{"key": "broken", "operator": "Exists"}],
                }
            ],
            "config": [
                {"source": "FromClass", "requests": ["main"], **parameters},
                {"source": "FromClaim", "requests": ["main"], **parameters},
                {"source": "FromClaim", **parameters},
            ],
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
            ]
        },
    }


# ------------------------------------------------------------------------------------- writing

DEVICE = (DRIVER, "a", "0")
GIVEN = {"devices": {"results": [{"request": "main", "driver": DRIVER, "pool": "a", "device": "0"}]}}
OTHER = {"devices": {"results": [{"request": "main", "driver": DRIVER, "pool": "a", "device": "1"}]}}
OURS = {"resource": "pods", "name": "p", "uid": "u"}
THEIRS = {"resource": "pods", "name": "q", "uid": "v"}


def wanted(allocation: Object | None = GIVEN) -> Reservation:
    return Reservation(key("one"), "c", frozenset({DEVICE}), (("p", "u"),), allocation)


def server(**status: Any) -> Object:
    return {"metadata": {"name": "one", "uid": "c"}, "status": status}


@dataclass(frozen=True)
class Refused:
    """The facts in the reason why nothing is written. Its text is asserted in ``tests/messages``."""

    facts: tuple[str, ...]


def refused(*facts: str) -> Refused:
    return Refused(facts)


def assert_change(change: Mapping[str, Any] | str, expected: Object | Refused) -> None:
    """Compare what is written, or the facts in the reason why nothing is."""
    if isinstance(expected, Refused):
        assert isinstance(change, str)
        assert all(fact in change.rstrip(".").split() for fact in expected.facts)
    else:
        assert change == expected


@pytest.mark.parametrize(
    ("has", "want", "change"),
    [
        pytest.param(
            server(), wanted(), {"allocation": GIVEN, "reservedFor": [OURS]}, id="a claim without devices gets both"
        ),
        pytest.param(
            server(allocation=GIVEN, reservedFor=[THEIRS]),
            wanted(None),
            {"reservedFor": [THEIRS, OURS]},
            id="one that has them is reserved for one more",
        ),
        pytest.param(
            server(allocation=GIVEN, reservedFor=[OURS]), wanted(), {}, id="what is written is not written again"
        ),
        pytest.param(server(allocation=OTHER), wanted(), refused("one"), id="others were faster"),
        pytest.param(server(), wanted(None), refused("one"), id="its devices were given back"),
        pytest.param(
            {**server(), "metadata": {"deletionTimestamp": "now"}}, wanted(), refused("one"), id="it goes"
        ),
        pytest.param(
            server(allocation=GIVEN, reservedFor=[{**THEIRS, "uid": str(i)} for i in range(256)]),
            wanted(None),
            refused("one", "256"),
            id="it is full",
        ),
    ],
)  # fmt: skip
def test_what_is_written_into_a_claim(has: Object, want: Reservation, change: Object | Refused) -> None:
    assert_change(reserving(has, want), change)


@pytest.mark.parametrize(
    ("has", "had", "change"),
    [
        pytest.param(
            server(allocation=GIVEN, reservedFor=[OURS]),
            wanted(),
            {"reservedFor": None, "allocation": None},
            id="what nobody else uses is given back",
        ),
        pytest.param(
            server(allocation=GIVEN, reservedFor=[OURS, THEIRS]),
            wanted(),
            {"reservedFor": [THEIRS]},
            id="what somebody else uses stays",
        ),
        pytest.param(
            server(allocation=GIVEN, reservedFor=[OURS]),
            wanted(None),
            {"reservedFor": None},
            id="what was there before stays",
        ),
        pytest.param(server(allocation=OTHER), wanted(), None, id="what others gave stays"),
        pytest.param(server(), wanted(), None, id="nothing was written"),
    ],
)
def test_what_is_taken_back(has: Object, had: Reservation, change: Object | None) -> None:
    assert letting_go(has, had) == change
