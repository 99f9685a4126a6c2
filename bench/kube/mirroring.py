"""``python -m bench.kube.mirroring KUBECONFIG``: mirror all nodes and pods, in a process of its own.

Prints seconds and mebibytes, so that memory is that of the mirrors alone.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from random import Random

from bench.kube.shapes import LightNode, LightPod
from closeknit.kube.mirror import Mirror
from closeknit.kube.resources import NODES, PODS
from closeknit.kube.rest import connect, load_access


async def main(kubeconfig: str) -> None:
    """Sync, measure, end."""
    async with connect(load_access(kubeconfig=kubeconfig), component="bench") as api:
        random = Random(1)
        nodes: Mirror[LightNode] = Mirror(api, NODES, random=random, into=LightNode)
        pods: Mirror[LightPod] = Mirror(
            api, PODS, random=random, into=LightPod, indexes={"node": lambda pod: [pod.spec.node_name]}
        )
        begun = time.perf_counter()
        tasks = [asyncio.create_task(mirror.run()) for mirror in (nodes, pods)]
        await asyncio.gather(nodes.synced(), pods.synced())
        seconds = time.perf_counter() - begun
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(nodes)} {len(pods)} {seconds:.2f} {peak:.0f}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
