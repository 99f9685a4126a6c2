"""Seeded clusters: zone > block > rack > host, 16 nodes a rack, 8 GPUs a node, empty or half full.

The same size and seed always give the same cluster, on every machine.
"""

from __future__ import annotations

from random import Random

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.nodes import Node
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology

ZONE, BLOCK, RACK, HOST = "bench/zone", "bench/block", "bench/rack", "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
TOPOLOGY = Topology(
    "bench", (Level(ZONE, "zone"), Level(BLOCK, "block"), Level(RACK, "rack"), Level(HOST, "host"))
)

ZONES = 4
NODES_A_RACK = 16
RACKS_A_BLOCK = 16
GPUS_A_NODE = 8

OFFER = Resources.parse({GPU: GPUS_A_NODE, "cpu": "128", "memory": "1024Gi", "pods": "110"})
FACTS = tuple(
    f"facts.bench/{name}" for name in ("arch", "os", "kernel", "driver", "image", "model", "nic", "bios")
)
"""Labels beside the levels, as real nodes carry them; each has a few values all over the cluster."""


def pod(gpus: int, cpu: str | None = None) -> Resources:
    """What a pod with so many GPUs takes; a cpu amount of its own makes it a shape of its own."""
    return Resources.parse({GPU: gpus, "cpu": cpu or str(8 * gpus), "memory": f"{64 * gpus}Gi"})


_HELD = {gpus: pod(gpus) for gpus in (1, 2, 4, 8)}


def node(number: int, size: int) -> Node:
    """The node of this number in a cluster of this size."""
    rack = number // NODES_A_RACK
    block = rack // RACKS_A_BLOCK
    blocks = -(-size // (NODES_A_RACK * RACKS_A_BLOCK))
    name = f"node-{number:06d}"
    labels = {
        ZONE: f"zone-{block * ZONES // blocks}",
        BLOCK: f"block-{block:03d}",
        RACK: f"rack-{rack:04d}",
        HOST: name,
    }
    labels.update((fact, f"v{number % (3 + i)}") for i, fact in enumerate(FACTS))
    return Node(name, labels, OFFER)


def empty_cluster(size: int) -> Cluster:
    """A cluster in which nothing runs yet."""
    return Cluster((TOPOLOGY,), tuple(node(number, size) for number in range(size)))


def half_full_cluster(size: int, seed: int) -> Cluster:
    """A cluster as it is after a while: half of the GPUs are held by many small workloads.

    Every rack has a load of its own, 10 to 90 percent, so that racks differ, and on
    every node each GPU is held or free by chance, so that 0 to 8 of them are free.
    """
    random = Random(seed)
    bare = empty_cluster(size)
    holdings: list[Holding] = []
    workload, pods_left, load = 0, 0, 0.0
    for number, place in enumerate(bare.nodes):
        if number % NODES_A_RACK == 0:
            load = random.uniform(0.1, 0.9)
        held = sum(random.random() < load for _ in range(GPUS_A_NODE))
        while held:
            gpus = random.choice([size for size in _HELD if size <= held])
            held -= gpus
            if not pods_left:
                workload, pods_left = workload + 1, random.randint(1, 8)
            pods_left -= 1
            holdings.append(Holding(f"tenant-{workload}", place.name, _HELD[gpus]))
    return Cluster(bare.topologies, bare.nodes, tuple(holdings))
