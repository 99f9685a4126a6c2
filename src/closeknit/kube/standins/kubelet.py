"""A kubelet for all nodes: it starts, finishes, fails, evicts and removes pods, and keeps node leases.

Nothing runs. A pod that is bound to a node becomes ready at once. Annotations of the
pod say what happens then:

- ``closeknit.dev/run-seconds``: how long it runs; without it, until it is deleted, or its
  ``activeDeadlineSeconds`` are over.
- ``closeknit.dev/exit-code``: what its containers end with; not 0 makes the pod fail.
- ``closeknit.dev/evict``: ``"true"`` makes the node put the pod out, as under pressure.
- ``closeknit.dev/starts-after``: which other pods must be ready before it starts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from closeknit.kube.clock import Clock, micro_timestamp, timestamp
from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.port import ApplyPatch, DeleteOptions, KubernetesApi, MergePatch, Object, Written
from closeknit.kube.resources import LEASES, PODS
from closeknit.kube.standins.reconciling import Reconciler, own_key
from closeknit.kube.start_order import STARTS_AFTER, missing, parse

RUN_SECONDS: Final = "closeknit.dev/run-seconds"
EXIT_CODE: Final = "closeknit.dev/exit-code"
EVICT: Final = "closeknit.dev/evict"
_STIRRING: Final = (RUN_SECONDS, EVICT)
"""With one of these annotations, something happens to a pod that runs."""
MANAGER: Final = "closeknit-kubelet"
LEASE_SECONDS: Final = 40
_RENEW_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 1.0
"""How often it is looked whether a pod may start."""
_LEASE_NAMESPACE: Final = "kube-node-lease"
_LARGEST_CODE: Final = 255
"""With which a process can end."""


@dataclass(frozen=True, slots=True)
class Report:
    """Write this status."""

    status: Object


@dataclass(frozen=True, slots=True)
class Remove:
    """The pod's containers have ended; take the object away."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Look again after so many seconds."""

    seconds: float


Step: TypeAlias = Report | Remove | Wait


def decide(pod: Mapping[str, Any], now: datetime) -> Step | None:
    """What the kubelet of the pod's node does next; None where there is nothing to do."""
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    if not spec.get("nodeName"):
        return None
    if "deletionTimestamp" in meta:
        return Remove()
    phase = status.get("phase", "Pending")
    if phase in ("Succeeded", "Failed"):
        return None
    annotations = meta.get("annotations") or {}
    if annotations.get(EVICT) == "true":
        return Report(
            {
                "phase": "Failed",
                "reason": "Evicted",
                "message": "The node put the pod out.",
                **_ended(pod, now, None),
            }
        )
    if phase == "Pending":
        return Report({"phase": "Running", "startTime": timestamp(now), **_running(pod, now)})
    ran = (now - _moment(status.get("startTime"), now)).total_seconds()
    seconds, deadline = _number(annotations.get(RUN_SECONDS)), spec.get("activeDeadlineSeconds")
    if deadline is not None and (seconds is None or deadline < seconds):
        if ran < deadline:
            return Wait(deadline - ran)
        return Report(
            {
                "phase": "Failed",
                "reason": "DeadlineExceeded",
                "message": "Pod was active on the node longer than the specified deadline",
                **_ended(pod, now, None),
            }
        )
    if seconds is None:
        return None
    if ran < seconds:
        return Wait(seconds - ran)
    code = int(min(_number(annotations.get(EXIT_CODE)) or 0, _LARGEST_CODE))
    return Report({"phase": "Failed" if code else "Succeeded", **_ended(pod, now, code)})


def _running(pod: Mapping[str, Any], now: datetime) -> Object:
    uid = str(pod["metadata"].get("uid", ""))
    # An address that is the pod's own, as good as any.
    number = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:3], "big")
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    state = {"running": {"startedAt": timestamp(now)}}
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    return {
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(pod, dict.fromkeys(conditions, "True"), now),
        "containerStatuses": _containers(pod, state, ready=True),
    }


def _ended(pod: Mapping[str, Any], now: datetime, code: int | None) -> Object:
    reason = "Error" if code is None or code else "Completed"
    state = {
        "terminated": {
            "exitCode": 137 if code is None else code,
            "reason": reason,
            "startedAt": str((pod.get("status") or {}).get("startTime") or timestamp(now)),
            "finishedAt": timestamp(now),
        }
    }
    return {
        "conditions": _conditions(pod, {"Ready": "False", "ContainersReady": "False"}, now),
        "containerStatuses": _containers(pod, state, ready=False),
    }


def _conditions(pod: Mapping[str, Any], wanted: Mapping[str, str], now: datetime) -> list[Object]:
    """The pod's conditions with some of them changed; one that stays as it is keeps its time."""
    found = {one["type"]: dict(one) for one in (pod.get("status") or {}).get("conditions") or ()}
    time = timestamp(now)
    for kind, status in wanted.items():
        if found.get(kind, {}).get("status") != status:
            found[kind] = {"type": kind, "status": status, "lastTransitionTime": time}
    return list(found.values())


def _containers(pod: Mapping[str, Any], state: Object, *, ready: bool) -> list[Object]:
    return [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": state,
        }
        for container in pod["spec"].get("containers") or ()
    ]


def _number(text: Any) -> float | None:
    try:
        return max(0.0, float(text))
    except (TypeError, ValueError):
        return None


def _moment(text: Any, now: datetime) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError):
        return now


class Kubelet:
    """Carries out what is decided, for the pods of all nodes."""

    def __init__(
        self,
        api: KubernetesApi,
        pods: Mirror[Object],
        nodes: Mirror[Object],
        *,
        clock: Clock,
        leases: bool = True,
    ) -> None:
        """Without ``leases`` those of nodes are not renewed: where nobody reads them, that is only work."""
        self._leases = leases
        self._api = api
        self._pods = pods
        self._nodes = nodes
        self._clock = clock
        self._reconciler = Reconciler(self._reconcile, clock)

    async def run(self) -> None:
        """Look after pods and leases until cancelled. The pods must have the index ``node``: ``node_of``."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reconciler.follow(self._pods, _own_key, as_it_was=False))
            tasks.create_task(self._reconciler.follow(self._nodes, self._pods_on))
            tasks.create_task(self._reconciler.run())
            if self._leases:
                tasks.create_task(self._keep_leases())

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.get(key.name, key.namespace)
        if pod is None:
            return None
        node = self._nodes.get(pod["spec"].get("nodeName", ""))
        if node is None or not is_alive(node):
            return None
        if self._is_held(pod):
            return _LOOK_SECONDS
        match decide(pod, self._clock.now()):
            case Report(status=status):
                # The version says on which state of the pod this was decided.
                version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
                patch = MergePatch({"metadata": version, "status": status})
                await self._api.patch(
                    PODS,
                    key.name,
                    patch,
                    namespace=key.namespace,
                    subresource="status",
                    field_manager=MANAGER,
                    into=Written,
                )
            case Remove():
                options = DeleteOptions(grace_period=0, uid=pod["metadata"]["uid"])
                try:
                    await self._api.delete(PODS, key.name, namespace=key.namespace, options=options)
                except NotFoundError:
                    return None
            case Wait(seconds=seconds):
                return seconds
            case None:
                pass
        return None

    def _is_held(self, pod: Object) -> bool:
        """Whether a pod has to wait for others before it starts."""
        told = (pod["metadata"].get("annotations") or {}).get(STARTS_AFTER)
        started = (pod.get("status") or {}).get("phase", "Pending") != "Pending"
        if not told or started or "deletionTimestamp" in pod["metadata"]:
            return False
        try:
            earlier = parse(told)
        except ValueError:
            return False
        return bool(missing(earlier, lambda name: self._pods.get(name, pod["metadata"]["namespace"])))

    def _pods_on(self, node: Object) -> list[Key]:
        return [key for pod in self._pods.by("node", node["metadata"]["name"]) for key in own_key(pod)]

    async def _keep_leases(self) -> None:
        """Renew the lease of every node, so that nobody takes a node for dead."""
        await self._nodes.synced()
        while True:
            for node in filter(is_alive, list(self._nodes)):
                await self._renew(node["metadata"]["name"], node["metadata"]["uid"])
                # Thousands of nodes must not hold up everything else.
                await asyncio.sleep(0)
            await self._clock.sleep(_RENEW_SECONDS)

    async def _renew(self, name: str, uid: str) -> None:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": _LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": micro_timestamp(self._clock.now()),
            },
        }
        try:
            patch = ApplyPatch(body, MANAGER, force=True)
            await self._api.patch(LEASES, name, patch, namespace=_LEASE_NAMESPACE, into=Written)
        except ApiError:
            # The next round is soon.
            return


def is_alive(node: Mapping[str, Any]) -> bool:
    """Whether a node does its work: somebody who marks it as not ready has pulled its plug."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return all(one.get("status") == "True" for one in conditions if one.get("type") == "Ready")


def _own_key(pod: Object) -> list[Key]:
    """The key of a pod that a kubelet has something to do with: one that is on a node, and not at rest."""
    return own_key(pod) if node_of(pod) and not runs_on(pod) else []


def runs_on(pod: Mapping[str, Any]) -> bool:
    """Whether a pod runs until somebody changes it, so that ``decide`` has nothing to say."""
    meta, status = pod["metadata"], pod.get("status") or {}
    annotations = meta.get("annotations") or {}
    return (
        status.get("phase") == "Running"
        and "deletionTimestamp" not in meta
        and annotations.keys().isdisjoint(_STIRRING)
        and "activeDeadlineSeconds" not in pod["spec"]
    )


def node_of(pod: Object) -> list[str]:
    """The node that a pod is on."""
    return [pod["spec"]["nodeName"]] if pod["spec"].get("nodeName") else []
