"""Which nodes each waiting pod may have, as kube-scheduler itself says.

An extender is asked with the nodes that have passed all filters; it takes none, so that nothing is ever bound
and every pod is judged by the same cluster.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.kube.rest.access import load_access
from closeknit.kube.rest.api import connect
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.control_plane.programs import KUBE_SCHEDULER, built
from closeknit.testing.control_plane.runs import Process
from tests.filters.cases import SCHEDULER, Object

_SECONDS = 300.0
"""Far longer than it ever takes; who waits so long is told what is missing."""


async def allowed(plane: ControlPlane, objects: Iterable[Object]) -> Mapping[str, frozenset[str]]:
    """By pod that waits, the nodes that pass all filters."""
    access = load_access(kubeconfig=str(plane.kubeconfig))
    async with connect(access, component="filters", connections=16) as api:
        served = {(each.api_version, each.kind): each for each in await api.resources()}
        await _create(api, served, objects)
        with _extender() as (address, seen), _scheduler(plane, address):
            await _judged(api)
            return {name: seen.get(name, frozenset()) for name in await _waiting(api)}


async def _create(
    api: KubernetesApi, served: Mapping[tuple[str, str], Resource], objects: Iterable[Object]
) -> None:
    """Make objects, pods last, because some of what they name is checked."""
    limit = asyncio.Semaphore(16)

    async def make(obj: Object) -> None:
        resource = served[obj["apiVersion"], obj["kind"]]
        async with limit:
            await api.create(resource, obj)
            if "status" in obj and resource.kind != NODES.kind:
                metadata = obj["metadata"]
                await api.patch(
                    resource,
                    metadata["name"],
                    MergePatch({"status": obj["status"]}),
                    namespace=metadata.get("namespace", ""),
                    subresource="status",
                )

    given = list(objects)
    for pods in (False, True):
        made = (make(obj) for obj in given if (obj["kind"] == "Pod") is pods)
        if failed := [each for each in await asyncio.gather(*made, return_exceptions=True) if each]:
            raise BaseExceptionGroup("Some objects could not be made.", failed)


async def _waiting(api: KubernetesApi) -> dict[str, bool]:
    """By pod that has no node, whether it was judged."""
    found = (await api.list(PODS)).items
    return {
        pod["metadata"]["name"]: any(
            each["type"] == "PodScheduled" for each in pod["status"].get("conditions", ())
        )
        for pod in found
        if not pod["spec"].get("nodeName")
    }


async def _judged(api: KubernetesApi) -> None:
    """Return when kube-scheduler has said something about every pod."""
    async with asyncio.timeout(_SECONDS):
        while not all((await _waiting(api)).values()):  # noqa: ASYNC110 (another process tells nobody)
            await asyncio.sleep(0.2)


@contextmanager
def _extender() -> Iterator[tuple[str, dict[str, frozenset[str]]]]:
    """A server that writes down which nodes are left of each pod, and takes none of them."""
    seen: dict[str, frozenset[str]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = asked["NodeNames"] or []
            seen[asked["Pod"]["metadata"]["name"]] = frozenset(names)
            answer = json.dumps({"NodeNames": [], "FailedNodes": dict.fromkeys(names, "asked only")})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _scheduler(plane: ControlPlane, extender: str) -> Iterator[None]:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), "qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        # Otherwise it stops looking once it has found enough nodes.
        "percentageOfNodesToScore": 100,
        # Those who run stay where they are, whatever else waits.
        "profiles": [
            {
                "schedulerName": SCHEDULER,
                "plugins": {"postFilter": {"disabled": [{"name": "*"}]}},
            }
        ],
        "extenders": [{"urlPrefix": extender, "filterVerb": "filter", "nodeCacheCapable": True}],
    }
    path = Path(plane.folder) / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    program = built(KUBE_SCHEDULER, print) / "kube-scheduler"
    process = Process(plane.folder, "kube-scheduler", [str(program), f"--config={path}", "--secure-port=0"])
    try:
        yield
    finally:
        process.end()
