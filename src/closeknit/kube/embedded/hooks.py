"""What admission hooks are asked, and what becomes of an object that they change."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from closeknit.kube.embedded import decoding
from closeknit.kube.embedded.core import AdmissionRequest, Core, Hook, Target
from closeknit.kube.embedded.kinds import Object
from closeknit.kube.errors import Cause


async def admit(
    core: Core, target: Target, operation: str, obj: Object | None, old: Mapping[str, Any] | None
) -> list[Cause] | None:
    """Ask the hooks. What they changed is read again, and what is wrong with it returned."""
    kind, options = target.kind, target.options
    meta = (obj or old or {}).get("metadata", {})
    request = AdmissionRequest(
        operation=operation,
        kind=kind.name,
        group=kind.group,
        version=kind.storage,
        plural=kind.key[1],
        subresource=target.subresource,
        namespace=meta.get("namespace", ""),
        name=meta.get("name", ""),
        obj=obj,
        old=old,
        dry_run=options.dry_run,
        user=options.user,
        warnings=options.warnings,
    )
    causes = None
    for hook in core.mutating:
        await _ask(hook, request)
    if core.mutating and obj is not None:
        _, causes = decoding.read(kind, kind.storage, obj, options)
    for hook in core.validating:
        await _ask(hook, request)
    return causes


async def admit_deletion(core: Core, target: Target, old: Mapping[str, Any]) -> None:
    """Ask the hooks about a deletion."""
    await admit(core, target, "DELETE", None, old)


async def _ask(hook: Hook, request: AdmissionRequest) -> None:
    answer = hook(request)
    if inspect.isawaitable(answer):
        await answer
