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
    main = _main(extra.pop("mainContainer", {}), given.resources)
    others = extra.pop("containers", [])
    return {**extra, "containers": [main, *(others if isinstance(others, list) else [others])]}


def _main(written: Any, resources: wire.Resources | None) -> Any:
    """The main container. What has the wrong type stays, so that it is told when the whole pod is checked."""
    if not isinstance(written, dict):
        return written
    main: dict[str, Any] = {"name": _MAIN, **written}
    own = main.get("resources", {})
    if resources is not None and isinstance(own, dict):
        # What the service says wins over its main container, as the operator has it.
        for key, amounts in _amounts(resources).items():
            inner = own.get(key, {})
            own = {**own, key: {**inner, **amounts} if isinstance(inner, dict) else inner}
        if own:
            main["resources"] = own
    return main


def _amounts(given: wire.Resources) -> dict[str, dict[str, Any]]:
    found = {"limits": _named(given.limits), "requests": _named(given.requests)}
    return {key: amounts for key, amounts in found.items() if amounts}


def _named(given: wire.ResourceItem) -> dict[str, Any]:
    """Amounts by the names that Kubernetes has for them."""
    named = {"cpu": given.cpu, "memory": given.memory, given.gpu_type or _GPU: given.gpu, **given.custom}
    return {name: quantity for name, quantity in named.items() if quantity is not None}
