"""Short ways to write Dynamo's objects in tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.dialects.dynamo.deployments import Deployment, read_deployment


def graph(
    services: Any,
    domain: str | None = None,
    *,
    version: str = "v1alpha1",
    name: str = "graph",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> str:
    """A deployment as JSON; ``domain`` is the constraint of the whole in the words of the proposal."""
    listed = "services" if version == "v1alpha1" else "components"
    close = {"topologyConstraint": {"packDomain": domain}} if domain else {}
    return json.dumps(
        {
            "apiVersion": f"nvidia.com/{version}",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": name, **(metadata or {})},
            "spec": {listed: services, **close, **spec},
        }
    )


def service(
    name: str = "",
    replicas: int | None = None,
    domain: str | None = None,
    nodes: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    found: dict[str, Any] = {**({"name": name} if name else {}), **more}
    if replicas is not None:
        found["replicas"] = replicas
    if nodes is not None:
        found["multinode"] = {"nodeCount": nodes}
    if domain is not None:
        found["topologyConstraint"] = {"packDomain": domain}
    return found


def deployment(text: str) -> Deployment:
    """A deployment that can be read."""
    content = json.loads(text)
    version = beta if content["apiVersion"].endswith("v1beta1") else alpha
    problems: list[Any] = []
    found = read_deployment(msgspec.convert(content, version.DynamoGraphDeployment), problems, lenient=False)
    assert problems == []
    return found
