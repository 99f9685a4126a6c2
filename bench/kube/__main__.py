"""``python -m bench.kube``: measure the ways to a Kubernetes API, and compare with the targets.

What is asked of the real API server is compared with the least that can be done, in the same run, because
this machine's speed is not the point. What happens within this process alone is measured in its processor
time, so that other work on the machine counts for less.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path

from bench.kube.bare import bare
from bench.kube.shapes import LightPod, node, pod
from bench.kube.work import WORKERS, Clock, bind, fill, prepare, timed, watchers
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import NODES, PODS
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane

_WATCHERS = 50


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.kube", description=__doc__)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--bindings", type=int, default=3_000, help="of each client")
    parser.add_argument("--rounds", type=int, default=6, help="lists and shares of bindings, of each client")
    options = parser.parse_args(arguments)
    rates: dict[str, float] = {}
    _say("this machine", f"sum(range(1000)) in {_loop():.1f} microseconds, load {os.getloadavg()[0]:.1f}")
    try:
        with control_plane(tell=print) as plane:
            asyncio.run(_real(plane, options, rates))
    except GoMissingError as error:
        print(f"{error} Only the embedded cluster is measured.")
    asyncio.run(_embedded(options))
    asyncio.run(_embedded_over_http(options, rates))
    return 0


async def _real(plane: ControlPlane, options: argparse.Namespace, rates: dict[str, float]) -> None:
    access = load_access(kubeconfig=str(plane.kubeconfig))
    async with connect(access, component="bench", connections=WORKERS) as api:
        await prepare(api)
        await fill(api, NODES, (node(each) for each in range(options.nodes)))
        seconds = await fill(api, PODS, (pod(each) for each in range(options.pods)))
        rates["creates"] = options.pods / seconds
        _say("real: creates", f"{rates['creates']:,.0f}/s")
        async with bare(await access.connection(), WORKERS) as least:
            ours, others = [], []
            for _ in range(options.rounds):
                ours.append(await timed(api.list(PODS, into=LightPod)))
                others.append(await timed(least.list_pods()))
            ratio = min(ours) / min(others)
            told = f"{min(ours):.2f} s, bare {min(others):.2f} s: {ratio:.2f} times"
            _say(f"real: list of {options.pods:,} pods", told, "at most 1.3", met=ratio <= 1.3)
            _mirror(plane, options)
            names = iter(f"pod-{each:05}" for each in range(options.bindings * 2))
            at_once = options.bindings // options.rounds
            seconds_of = {"ours": 0.0, "bare": 0.0}
            # In turns, and who begins in turns too, because the machine has other work.
            for who in ("ours", "bare", "bare", "ours") * (options.rounds // 2):
                share = list(islice(names, at_once))
                bound = bind(api, share, "node-00000") if who == "ours" else least.bind(share, "node-00000")
                seconds_of[who] += await timed(bound)
            bound_each = at_once * (options.rounds // 2) * 2
            rates["bindings"], bare_rate = (bound_each / seconds for seconds in seconds_of.values())
            wanted = min(800.0, 0.95 * bare_rate)
            _say(
                "real: bindings",
                f"{rates['bindings']:,.0f}/s, bare {bare_rate:,.0f}/s",
                f"at least {wanted:,.0f}",
                met=rates["bindings"] >= wanted,
            )


def _mirror(plane: ControlPlane, options: argparse.Namespace) -> None:
    told = subprocess.run(  # noqa: S603 - this very Python
        [sys.executable, "-m", "bench.kube.mirroring", str(plane.kubeconfig)],
        capture_output=True,
        text=True,
        check=True,
    )
    nodes, pods, seconds, peak = told.stdout.split()
    assert (int(nodes), int(pods)) == (options.nodes, options.pods), told.stdout
    met = float(seconds) <= 10 and float(peak) <= 350
    what = f"real: mirrors of {options.nodes:,} nodes and {options.pods:,} pods"
    _say(what, f"in sync after {seconds} s, {peak} MiB", "at most 10 s and 350 MiB", met=met)


async def _embedded(options: argparse.Namespace) -> None:
    api = EmbeddedCluster()
    await _rates("embedded", api, options, time.process_time, creates=10_000, bindings=5_000)
    await api.close()
    # With the history of any cluster: who is more than 10,000 events behind is told to list again.
    api = EmbeddedCluster()
    await prepare(api)
    version = (await api.list(PODS)).resource_version
    async with watchers(api, _WATCHERS, version) as until:
        await asyncio.sleep(0.1)
        filling = await fill(api, PODS, (pod(each) for each in range(options.pods)), time.process_time)
        behind = await timed(until(options.pods), time.process_time)
    _say(
        f"embedded: {_WATCHERS} watchers of {options.pods:,} pods",
        f"made and seen within {filling:.1f} s, the last of them {behind:.1f} s later",
        "nobody falls behind",
        met=True,
    )
    await api.close()


async def _embedded_over_http(options: argparse.Namespace, rates: dict[str, float]) -> None:
    async with _served() as api:
        await _rates("embedded over HTTP", api, options, time.perf_counter, **rates)


async def _rates(
    name: str, api: KubernetesApi, options: argparse.Namespace, clock: Clock, **wanted: float
) -> None:
    await prepare(api)
    await fill(api, NODES, [node(0)])
    pods = (pod(each) for each in range(options.pods))
    found = {"creates": options.pods / await fill(api, PODS, pods, clock)}
    names = [f"pod-{each:05}" for each in range(min(options.pods, options.bindings * 2))]
    found["bindings"] = len(names) / await bind(api, names, "node-00000", clock)
    for what, rate in found.items():
        least = wanted.get(what)
        target = f"at least {least:,.0f}" if least else ""
        _say(f"{name}: {what}", f"{rate:,.0f}/s", target, met=least is None or rate >= least)


@asynccontextmanager
async def _served() -> AsyncIterator[KubernetesApi]:
    cluster = EmbeddedCluster()
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        async with Server(cluster) as server:
            server.write_kubeconfig(kubeconfig)
            access = load_access(kubeconfig=str(kubeconfig))
            async with connect(access, component="bench", connections=WORKERS) as api:
                yield api
    await cluster.close()


def _loop() -> float:
    """Microseconds that a bare loop takes, the least of many."""
    taken = []
    for _ in range(200):
        begun = time.perf_counter()
        sum(range(1000))
        taken.append(time.perf_counter() - begun)
    return min(taken) * 1e6


def _say(what: str, figure: str, target: str = "", *, met: bool = True) -> None:
    verdict = f"   {'met' if met else 'MISSED'}: {target}" if target else ""
    print(f"{what:<48} {figure}{verdict}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
