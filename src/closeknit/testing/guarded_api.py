"""A Kubernetes API that lets a component do only what its role allows, and remembers what it refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final, cast

from closeknit.installation.privileges import Component, allowed
from closeknit.kube.errors import ForbiddenError
from closeknit.kube.port import ApplyPatch, KubernetesApi
from closeknit.kube.resources import PODS, Resource

_VERBS: Final = {
    "get": "get",
    "list": "list",
    "create": "create",
    "replace": "update",
    "patch": "patch",
    "delete": "delete",
    "delete_collection": "deletecollection",
}
_ON_PODS: Final = {"bind": "binding", "evict": "eviction"}


class GuardedApi:
    """Passes on what the component's role allows; anything else is refused as an API server would."""

    def __init__(self, api: KubernetesApi, component: Component) -> None:
        self._api = api
        self._component = component
        self.refused: list[str] = []
        """What was asked for and not allowed, such as ``create pods/eviction``."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        if name in _ON_PODS:

            async def on_pods(*given: Any, **named: Any) -> Any:
                self._require("create", PODS, _ON_PODS[name])
                return await method(*given, **named)

            return on_pods
        if name == "watch":

            def watch(resource: Resource, *given: Any, **named: Any) -> AsyncIterator[Any]:
                self._require("watch", resource, "")
                return cast("AsyncIterator[Any]", method(resource, *given, **named))

            return watch
        if name not in _VERBS:
            return method

        async def asked(resource: Resource, *given: Any, **named: Any) -> Any:
            subresource = named.get("subresource", "")
            self._require(_VERBS[name], resource, subresource)
            if any(isinstance(each, ApplyPatch) for each in given):
                # Whoever applies an object may have to make it.
                self._require("create", resource, subresource)
            return await method(resource, *given, **named)

        return asked

    def _require(self, verb: str, resource: Resource, subresource: str) -> None:
        plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
        if not allowed(self._component, verb, resource.group, plural):
            wanted = f"{verb} {plural}" + (f".{resource.group}" if resource.group else "")
            self.refused.append(wanted)
            raise ForbiddenError(f"The role of the {self._component.value} does not allow: {wanted}")
