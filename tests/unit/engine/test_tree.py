"""Nodes in tree order, and keeping that order while nodes come and go."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.engine.tree import Tree
from closeknit.hub.nodes import Node
from closeknit.hub.topology import Level, Topology

THREE = Topology("t", (Level("zone"), Level("block"), Level("rack")))


def some_node(name: str, rng: Random) -> Node:
    """A node with a few values per level, so that racks of one name stand in several blocks; some lack labels."""
    labels = {level.label: str(rng.randrange(2)) for level in THREE.levels if rng.random() < 0.85}
    return Node(name, labels)


def facts(tree: Tree) -> list[object]:
    """All that a tree says, in a form that compares."""
    return [
        tree.slots.tolist(),
        tree.positions[tree.slots].tolist(),
        *[
            [kind[level].tolist() for kind in (tree.start, tree.end, tree.dom, tree.real, tree.parent)]
            for level in range(tree.depth + 1)
        ],
        [tree.node_path(position) for position in range(len(tree))],
    ]


@pytest.mark.parametrize("seed", range(20))
def test_coming_and_going_nodes_leave_the_tree_that_a_fresh_look_gives(seed: int) -> None:
    rng = Random(seed)
    nodes: dict[int, Node] = {slot: some_node(f"n{slot}", rng) for slot in range(rng.randrange(8))}
    tree = Tree(THREE, nodes.items())
    for slot in range(100, 130):
        if nodes and rng.random() < 0.4:
            gone = rng.choice(sorted(nodes))
            del nodes[gone]
            tree.remove(gone)
        else:
            nodes[slot] = some_node(f"n{slot}", rng)
            tree.insert(slot, nodes[slot])

        assert facts(tree) == facts(Tree(THREE, nodes.items()))


def test_a_rack_of_the_same_name_in_another_block_is_another_rack() -> None:
    nodes = [Node(f"n{i}", {"zone": "z", "block": f"b{i}", "rack": "r"}) for i in range(2)]
    tree = Tree(THREE, enumerate(nodes))

    assert [tree.path(2, domain) for domain in range(tree.count(2))] == [("z", "b0", "r"), ("z", "b1", "r")]


def test_a_node_that_lacks_a_label_is_in_no_domain_of_that_level_or_a_finer_one() -> None:
    nodes = [Node("a", {"zone": "z", "rack": "r"}), Node("b", {"zone": "z", "block": "b", "rack": "r"})]
    tree = Tree(THREE, enumerate(nodes))

    assert [tree.node_path(i) for i in range(2)] == [("z", "b", "r"), ("z",)]
    assert [flags.tolist() for flags in tree.real] == [[True], [True, False], [True, False], [True, True]]
