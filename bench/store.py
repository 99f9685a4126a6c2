"""``python -m bench.store``: a full store of objects, and what single changes in it cost.

3,000 nodes, 1,000 PodCliqueSets and 20,000 pods. Measured are the first fill, from bytes to workloads; one
set compiled and rendered again after it has changed; and how often each function runs again after one
pod, one node or one set has changed, which is a count and no time. ``--against DIRECTORY`` measures the
first fill by the sources of another version too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.compiling import compile_object, render_object
from closeknit.dialects.reading import gather, load
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key

_LEVELS = {"zone": 1000, "block": 100, "rack": 10}
"""How many nodes lie in one domain of each level."""
_CLIQUES = (("router", 2), ("decode-0-leader", 1), ("decode-0-worker", 8), ("decode-1-leader", 1))
"""The cliques of a set with their pods; all others are of ``decode-1-worker``."""
_FILL = """
import sys, time
sys.path.insert(0, sys.argv[1])
from closeknit.dialects import Source, read
sources = [Source("store.json", sys.stdin.buffer.read())]
begun = time.process_time()
read(sources)
print(time.process_time() - begun)
"""


def objects(nodes: int = 3_000, sets: int = 1_000, pods: int = 20_000) -> Iterator[dict[str, Any]]:
    """A cluster in which every set has its running pods."""
    levels = [{"domain": domain, "key": f"topology/{domain}"} for domain in _LEVELS]
    yield _object("grove.io/v1alpha1", "ClusterTopologyBinding", "tree", spec={"levels": levels})
    for i in range(nodes):
        labels = {f"topology/{domain}": f"{domain}-{i // size}" for domain, size in _LEVELS.items()}
        amounts = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
        yield _object("v1", "Node", f"node-{i}", labels=labels, status={"allocatable": amounts})
    for i in range(sets):
        yield pod_clique_set(f"set-{i}")
    for i in range(pods):
        yield pod(i % sets, i // sets, i % nodes)


def pod_clique_set(name: str, workers: int = 8) -> dict[str, Any]:
    """A router beside a scaling group of two replicas, each with a leader and workers in one rack."""

    def clique(role: str, replicas: int, **more: Any) -> dict[str, Any]:
        spec = {"roleName": role, "replicas": replicas, "podSpec": _pod_spec()}
        return {"name": role, "spec": spec, **more}

    def packed(domain: str) -> dict[str, Any]:
        return {"topologyConstraint": {"topologyName": "tree", "pack": {"required": domain}}}

    template = {
        **packed("zone"),
        "cliques": [clique("router", 2), clique("leader", 1), clique("worker", workers, **packed("rack"))],
        "podCliqueScalingGroups": [
            {"name": "decode", "cliqueNames": ["leader", "worker"], "replicas": 2, **packed("block")}
        ],
    }
    return _object("grove.io/v1alpha1", "PodCliqueSet", name, spec={"replicas": 1, "template": template})


def pod(of_set: int, number: int, node: int) -> dict[str, Any]:
    """The pod of a set with this number, on this node."""
    clique = "decode-1-worker"
    for name, count in _CLIQUES:
        if number < count:
            clique = name
            break
        number -= count
    full = f"set-{of_set}-0-{clique}"
    labels = {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": f"set-{of_set}",
        "grove.io/podclique": full,
        "grove.io/podgang": f"set-{of_set}-0",
    }
    spec = {**_pod_spec(), "nodeName": f"node-{node}"}
    return _object("v1", "Pod", f"{full}-{number}", labels=labels, spec=spec, status={"phase": "Running"})


def _pod_spec() -> dict[str, Any]:
    requests = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    return {"containers": [{"name": "main", "image": "model", "resources": {"requests": requests}}]}


def _object(
    api_version: str, kind: str, name: str, labels: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def written(*sizes: int) -> bytes:
    """All objects as one list."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(*sizes))}).encode()


def filled(*sizes: int) -> View:
    """A store with all these objects, and everything worked out."""
    found = gather(load(DIALECTS, [Source("store.json", written(*sizes))], lenient=False))
    assert not found.problems, found.problems[0]
    return found.loaded.view


def put(view: View, key: Key, content: dict[str, Any]) -> None:
    """Put an object in the place of another, as a watch would."""
    before = view.get(key)
    assert before is not None
    view.put(Stored(key, before.object, msgspec.convert(content, before.shape)))


def worked_out_again(view: View) -> dict[str, int]:
    """Compile again whatever may be wrong by now; how often each function was run for that."""
    before = view.worked_out.copy()
    for family, key in list(view.stale(compile_object)):
        view.derive(compile_object, family, key)
    return {str(getattr(each, "__name__", each)): count for each, count in (view.worked_out - before).items()}


CHANGES: dict[str, tuple[Key, dict[str, Any]]] = {
    "one pod": (Key("", "Pod", "default", "set-7-0-router-0"), pod(7, 0, 8)),
    "one node": (
        Key("", "Node", "", "node-7"),
        _object("v1", "Node", "node-7", labels={"topology/zone": "zone-1"}, status={"allocatable": {}}),
    ),
    "one set": (Key("grove.io", "PodCliqueSet", "default", "set-7"), pod_clique_set("set-7", workers=9)),
}
"""What is changed, and to what."""


def one_set(view: View, rounds: int) -> Iterator[float]:
    """Seconds for one set, compiled and rendered as PodGangs after each of many changes."""
    family = next(each for each in DIALECTS if each.name == "grove")
    for number in range(rounds):
        key = Key("grove.io", "PodCliqueSet", "default", f"set-{number * 13 % 1000}")
        put(view, key, pod_clique_set(key.name, workers=9 + number % 2))
        begun = time.process_time()
        view.derive(compile_object, family, key)
        view.derive(render_object, family, "podgang", key)
        yield time.process_time() - begun


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.store", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="DIRECTORY", help="the sources of another version")
    options = parser.parse_args(arguments)
    data = written()
    here = Path(__file__).parent.parent / "src"
    for sources in filter(None, (here, options.against)):
        seconds = sorted(_fill(sources, data) for _ in range(3))
        print(f"first fill by {sources.name if sources is not here else 'this version'}: {seconds[1]:.2f} s")
    view = filled()
    times = sorted(one_set(view, 200))
    print(f"compile and render one set: {times[100] * 1e3:.3f} ms median, {times[197] * 1e3:.3f} ms p99")
    worked_out_again(view)
    for what, (key, content) in CHANGES.items():
        put(view, key, content)
        print(f"worked out again after {what} has changed: {worked_out_again(view)}")
    return 0


def _fill(sources: Path, data: bytes) -> float:
    """Processor seconds for reading all, by these sources, in a process of its own."""
    command = [sys.executable, "-c", _FILL, str(sources)]
    done = subprocess.run(command, input=data, capture_output=True, check=True)  # noqa: S603
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
