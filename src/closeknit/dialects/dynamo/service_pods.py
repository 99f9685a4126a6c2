"""The pods of a v1alpha1 service, which are described in parts: amounts, a main container, and the rest."""

from __future__ import annotations

from typing import Any

from closeknit.apis import nvidia_com_v1alpha1 as wire
from closeknit.dialects.grove.blueprint import ASSUMED_POD

_GPU = "nvidia.com/gpu"
_MAIN = "main"


def pod_spec(given: wire.Service) -> dict[str, Any]:
    """A pod's specification. A service that says nothing of its pods is assumed to need a GPU each."""
    if given.extra_pod_spec is None and given.resources is None:
        return ASSUMED_POD
    extra: dict[str, Any] = dict(given.extra_pod_spec or {})
    written = extra.pop("mainContainer", None)
    main: dict[str, Any] = {"name": _MAIN, **(written if isinstance(written, dict) else {})}
    others = extra.pop("containers", [])
    if given.resources is not None and (amounts := _amounts(given.resources)):
        own = main.get("resources")
        own = own if isinstance(own, dict) else {}
        # What the service says wins over its main container, as the operator has it.
        main["resources"] = {**own, **{key: {**own.get(key, {}), **named} for key, named in amounts.items()}}
    return {**extra, "containers": [main, *(others if isinstance(others, list) else [others])]}


def _amounts(given: wire.Resources) -> dict[str, dict[str, Any]]:
    found = {"limits": _named(given.limits), "requests": _named(given.requests)}
    return {key: amounts for key, amounts in found.items() if amounts}


def _named(given: wire.ResourceItem) -> dict[str, Any]:
    """Amounts by the names that Kubernetes has for them."""
    named = {"cpu": given.cpu, "memory": given.memory, given.gpu_type or _GPU: given.gpu, **given.custom}
    return {name: quantity for name, quantity in named.items() if quantity is not None}
