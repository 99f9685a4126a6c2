"""Workloads of five families on one cluster, placed by one command."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenario.commands import EXAMPLES, Json, planned, run, translated

FOLDER = EXAMPLES / "mixed"
BLOCK, RACK = 1, 2


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Json]:
    """The outcomes of a plan of the folder, by the name of the workload."""
    status, found = planned(FOLDER)
    assert status == 0
    return found


def domains(outcome: Json, depth: int, *prefixes: str) -> set[tuple[str, ...]]:
    """The domains of the pods whose pod set starts like this; of all of them where nothing is said."""
    return {
        tuple(pod["domain"][:depth])
        for pod in outcome["pods"]
        if not prefixes or pod["podSet"].startswith(prefixes)
    }


def test_the_nodes_are_those_of_the_drawing() -> None:
    levels = "topology.kubernetes.io/block,topology.kubernetes.io/rack"
    result = run("nodes", "--drawing", FOLDER / "cluster.txt", "--levels", levels)

    assert result.stdout == (FOLDER / "nodes.yaml").read_text(encoding="utf-8")


def test_every_family_is_placed_in_one_queue_by_priority_and_name(outcomes: dict[str, Json]) -> None:
    assert [(name, outcome["dialect"], outcome["status"]) for name, outcome in outcomes.items()] == [
        ("evaluate", "kai", "placed"),
        ("chat", "grove", "placed"),
        ("finetune", "kueue", "placed"),
        ("pretrain", "osmo", "placed"),
        ("search", "dynamo", "placed"),
    ]


def test_each_workload_is_where_its_family_wants_it(outcomes: dict[str, Json]) -> None:
    evaluate, chat, finetune, pretrain, search = outcomes.values()

    assert len(domains(evaluate, RACK)) == 1
    for outcome in (chat, finetune, pretrain, search):
        assert len(domains(outcome, BLOCK)) == 1
    for outcome, parts in (
        (chat, ("chat-0-prefill", "chat-0-decode")),
        (finetune, ("workers-0", "workers-1")),
        (pretrain, ("model-1", "model-2")),
        (search, tuple(f"search-0-{name}-{index}" for name in ("prefill", "decode") for index in (0, 1))),
    ):
        assert [len(domains(outcome, RACK, part)) for part in parts] == [1] * len(parts)
    assert [len(outcome["pods"]) for outcome in outcomes.values()] == [6, 7, 8, 8, 9]


def test_no_node_is_used_beyond_what_it_has(outcomes: dict[str, Json]) -> None:
    """A node has eight GPUs, and pods ask for four or eight; routers and frontends ask for none."""
    gpus = {"evaluate": 4, "chat": 4, "finetune": 8, "pretrain": 8, "search": 4}
    used = {"node-06": 4, "node-29": 8}
    for name, outcome in outcomes.items():
        for pod in outcome["pods"]:
            if "router" not in pod["podSet"] and "frontend" not in pod["podSet"]:
                used[pod["node"]] = used.get(pod["node"], 0) + gpus[name]

    assert max(used.values()) == 8


def test_one_file_may_hold_them_all(outcomes: dict[str, Json]) -> None:
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in {".yaml", ".json"})
    text = "\n---\n".join(path.read_text(encoding="utf-8") for path in files)

    assert run("validate", "-f", "-", given=text).exit_code == 0
    assert planned("-", given=text) == (0, outcomes)


@pytest.mark.parametrize(
    ("target", "want"),
    [
        ("kai", {"Topology": 4, "Queue": 2, "PodGroup": 7, "Pod": 16}),
        ("grove", {"ClusterTopologyBinding": 3, "PodCliqueSet": 4, "PodClique": 3}),
        ("podgang", {"ClusterTopologyBinding": 3, "PodGang": 7, "Pod": 6 + 8 + 8}),
        ("pods", {"Pod": 6 + 7 + 8 + 8 + 9}),
    ],
)
def test_all_of_them_can_be_translated_together(target: str, want: dict[str, int]) -> None:
    assert Counter(each["kind"] for each in translated(target, FOLDER)) == want


def test_what_kueue_cannot_be_told_is_said_and_the_rest_is_translated() -> None:
    result = run("translate", "-f", FOLDER, "--to", "kueue")

    assert result.exit_code == 2
    assert [line.split(":")[0].rsplit("/", 1)[-1] for line in result.stderr.splitlines()] == [
        "dynamo-deployment.yaml",
        "grove-pod-clique-set.yaml",
    ]
    # Of what cannot be said whole, nothing is said.
    assert result.stdout.count("kind: JobSet\n") == 3
