"""Whether a cluster is at rest: all that its server holds was seen, and nothing of it is on its way out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from closeknit.kube.port import KubernetesApi, Object
from closeknit.kube.resources import PODS, Resource
from closeknit.kube.standins import kubelet
from closeknit.kube.start_order import STARTS_AFTER
from closeknit.live.following import Following


async def still_to_come(
    api: KubernetesApi, followings: Iterable[Following | None], *, kubelets_at: datetime | None = None
) -> str:
    """What will change without anybody writing, in a sentence; empty where nothing will.

    ``kubelets_at``: the time now, where kubelets' stand-ins are at work. A watch may tell late, and a
    real server's garbage collectors take their time: one looks for objects whose owners are gone, one
    every 20 s for pods without a node whose deletion was cut off in the middle.
    """
    uids: set[str] = set()
    owned: dict[str, str] = {}
    followed: dict[Resource, list[Following]] = {}
    for following in filter(None, followings):
        for resource in following.resources.values():
            followed.setdefault(resource, []).append(following)
    for resource, by in followed.items():
        objects = (await api.list(resource)).items
        if not all(_is_seen(resource, objects, each) for each in by):
            return f"Some {resource.kind} is not seen as the server has it."
        for each in objects:
            metadata = each["metadata"]
            uids.add(metadata["uid"])
            for owner in metadata.get("ownerReferences", ()):
                if any(_is_of(owner, known) for known in followed):
                    owned[owner["uid"]] = f"{resource.kind} {metadata['name']}"
            if "deletionTimestamp" in metadata and not (
                metadata.get("finalizers") or each.get("spec", {}).get("nodeName")
            ):
                return f"{resource.kind} {metadata['name']} is deleted, and still there."
            if kubelets_at is not None and resource.kind == PODS.kind and _is_for_kubelet(each, kubelets_at):
                return f"The kubelet has not seen to pod {metadata['name']}."
    orphans = [name for uid, name in owned.items() if uid not in uids]
    return f"The owner of {orphans[0]} is gone." if orphans else ""


def _is_seen(resource: Resource, objects: list[Object], by: Following) -> bool:
    mirror = by.mirror(resource.group, resource.kind)
    if mirror is None or len(mirror) != len(objects):
        return False
    version = int(mirror.freshness().resource_version or 0)
    return all(
        int(meta["resourceVersion"]) <= version
        and mirror.get(meta["name"], meta.get("namespace", "")) is not None
        for meta in (each["metadata"] for each in objects)
    )


def _is_for_kubelet(pod: Object, now: datetime) -> bool:
    waits = STARTS_AFTER in pod["metadata"].get("annotations", {})
    return not waits and isinstance(kubelet.decide(pod, now), kubelet.Report | kubelet.Remove)


def _is_of(owner: Object, resource: Resource) -> bool:
    return (owner["apiVersion"], owner["kind"]) == (resource.api_version, resource.kind)
