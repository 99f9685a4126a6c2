"""Writing what claims get: their devices, and the pods that use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from closeknit.dialects.core.devices import Id
from closeknit.hub.keys import Key

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps a claim that has devices from being deleted; kube-scheduler sets the same."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A claim with devices, and the pods that are to use them."""

    claim: Key
    uid: str
    devices: frozenset[Id]
    pods: tuple[tuple[str, str], ...]
    """Name and uid of each."""
    allocation: Mapping[str, Any] | None = field(default=None, hash=False, compare=False)
    """What is to be written; None where the claim has these devices already."""
    exclusive: frozenset[Id] = frozenset()
    """Of these devices, those that are given to nobody else."""
    takes_time: ClassVar = False
    """Whether others have to do their part before it is ready."""


MOST_CONSUMERS = 256
"""How many pods a claim can be reserved for: as many as Kubernetes writes into one."""


def reserving(claim: Mapping[str, Any], wanted: Reservation) -> Mapping[str, Any] | str:
    """What to write into the status of a claim as the server has it, or why it cannot be.

    Nothing, as an empty mapping, where it says so already.
    """
    if claim["metadata"].get("deletionTimestamp"):
        return f"ResourceClaim {wanted.claim.name} is being deleted."
    status = claim.get("status") or {}
    allocation, reserved = status.get("allocation"), list(status.get("reservedFor") or ())
    change: dict[str, Any] = {}
    if allocation is not None:
        if written_devices(allocation) != wanted.devices:
            return f"ResourceClaim {wanted.claim.name} has got other devices."
    elif wanted.allocation is None:
        return f"ResourceClaim {wanted.claim.name} has lost its devices."
    else:
        change["allocation"] = wanted.allocation
    known = {each.get("uid") for each in reserved}
    if more := [
        {"resource": "pods", "name": name, "uid": uid} for name, uid in wanted.pods if uid not in known
    ]:
        if len(reserved) + len(more) > MOST_CONSUMERS:
            return (
                f"ResourceClaim {wanted.claim.name} is reserved for {MOST_CONSUMERS} pods, the most allowed."
            )
        change["reservedFor"] = [*reserved, *more]
    return change


def letting_go(claim: Mapping[str, Any], had: Reservation) -> Mapping[str, Any] | None:
    """What to write into the status of a claim so that pods no longer use it; None for nothing.

    Its devices are given back where nobody else uses them.
    """
    status = claim.get("status") or {}
    reserved = list(status.get("reservedFor") or ())
    ours = {uid for _, uid in had.pods}
    others = [each for each in reserved if each.get("uid") not in ours]
    change: dict[str, Any] = {}
    if len(others) < len(reserved):
        change["reservedFor"] = others or None
    allocation = status.get("allocation")
    if had.allocation is not None and allocation is not None and not others:
        change |= {"allocation": None} if written_devices(allocation) == had.devices else {}
    return change or None


def written_devices(allocation: Mapping[str, Any], *, exclusive: bool = False) -> frozenset[Id]:
    """The devices of an allocation as it is written; only those that are given to nobody else, if asked."""
    results = (allocation.get("devices") or {}).get("results") or ()
    return frozenset(
        (each["driver"], each["pool"], each["device"])
        for each in results
        if not (exclusive and each.get("adminAccess"))
    )
