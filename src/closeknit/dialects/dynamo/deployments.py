"""A DynamoGraphDeployment of any version in one form, and what is wrong with the way it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.grove.blueprint import ASSUMED_POD
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.decoding import decode
from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import dynamo as sentences


@dataclass(frozen=True, slots=True)
class Component:
    """A service or component."""

    name: str
    path: Path
    replicas: int
    least: int | None
    nodes: int | None
    """On how many nodes each replica runs; None for an ordinary component."""
    domain: str | None
    """None without a constraint; empty for one that names no domain."""
    pod_spec: dict[str, Any]
    pod_path: Path
    """Where the author wrote what became ``spec.podSpec``."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    override: alpha.ProviderOverride | None = None
    roles: tuple[alpha.ProviderOverride | None, alpha.ProviderOverride | None] = (None, None)
    """What is written over for the leader, and for the workers."""

    forced: bool = False
    """Whether it is to be a scaling group of single pods, though it runs on one node."""
    shared: Path = ()
    """Where it says that its pods share GPUs with each other; empty where they do not."""

    @property
    def scales_as_group(self) -> bool:
        """Whether each of its replicas is a group of its own."""
        return self.forced or self.nodes is not None

    @property
    def key(self) -> str:
        """The name by which its objects go."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a DynamoGraphDeployment says."""

    metadata: ObjectMeta
    version: str
    components: tuple[Component, ...]
    constrained: bool
    """Whether the deployment itself has a constraint."""
    topology: str
    """The topology that is named; empty for none."""
    topology_field: str
    """What the field is called that names it."""
    domain: str
    """Empty where the deployment itself names none."""
    priority_class: str
    labels: dict[str, str]
    annotations: dict[str, str]
    override: alpha.ProviderOverride | None
    listed: str
    """What the list of components is called."""

    @property
    def is_constrained(self) -> bool:
        """Whether there is a constraint anywhere."""
        return self.constrained or any(component.domain is not None for component in self.components)

    @property
    def may_leave_out_topology(self) -> bool:
        """Whether it speaks the words of the proposal, in which there is only one topology."""
        return self.version == "v1alpha1"


def as_written(stored: Stored[Any]) -> Any:
    """The content of a deployment in the version that it was written in.

    A server that converts nothing hands out services of v1alpha1 under the name of v1beta1, where it is read
    whole.
    """
    spec = stored.written.get("spec") or {}
    if stored.shape is not beta.DynamoGraphDeployment or "services" not in spec or spec.get("components"):
        return stored.content
    earlier = {**stored.written, "apiVersion": "nvidia.com/v1alpha1"}
    content, _ = decode(alpha.DynamoGraphDeployment, earlier, lenient=True)
    return stored.content if content is None else content


def read_deployment(
    given: alpha.DynamoGraphDeployment | beta.DynamoGraphDeployment, problems: list[Problem], *, lenient: bool
) -> Deployment:
    """Read either version; everything wrong with the services of v1alpha1 is added to ``problems``."""
    spec, close = given.spec, given.spec.topology_constraint
    if isinstance(spec, alpha.DynamoGraphDeploymentSpec):
        version, listed, topology_field = "v1alpha1", "services", "topologyProfile"
        topology = spec.topology_constraint.topology_profile if spec.topology_constraint else ""
        components = tuple(_service(*each) for each in _services(spec.services, problems, lenient=lenient))
    else:
        version, listed, topology_field = "v1beta1", "components", "clusterTopologyName"
        topology = spec.topology_constraint.cluster_topology_name if spec.topology_constraint else ""
        components = tuple(_component(i, component) for i, component in enumerate(spec.components))
    return Deployment(
        metadata=given.metadata,
        version=version,
        components=components,
        constrained=close is not None,
        topology=topology,
        topology_field=topology_field,
        domain=close.pack_domain if close is not None else "",
        priority_class=spec.priority_class_name,
        labels=spec.labels,
        annotations=spec.annotations,
        override=spec.provider_override,
        listed=listed,
    )


def _component_fields(given: alpha.Service | beta.Component) -> dict[str, Any]:
    """What both versions spell alike."""
    close, multinode = given.topology_constraint, given.multinode
    roles = (multinode.leader, multinode.worker) if multinode is not None else ()
    return {
        "replicas": 1 if given.replicas is None else given.replicas,
        "least": given.min_available,
        "nodes": multinode.node_count if multinode is not None else None,
        "domain": close.pack_domain if close is not None else None,
        "override": given.provider_override,
        "roles": tuple(role.provider_override for role in roles) or (None, None),
    }


def _services(
    given: object, problems: list[Problem], *, lenient: bool
) -> Iterator[tuple[str, Path, alpha.Service]]:
    """Name, path and content of each service that can be read, from a mapping or a list."""
    whole: Path = ("spec", "services")
    entries: list[tuple[str, Path, object]] = []
    match given:
        case None:
            pass
        case dict():
            entries = [(str(name), (*whole, str(name)), each) for name, each in given.items()]
        case list():
            entries = [("", (*whole, i), each) for i, each in enumerate(given)]
        case _:
            problems.append(sentences.NOT_SERVICES.at(whole, found=worded(given)))
    for name, path, content in entries:
        if not isinstance(content, dict):
            # An empty service is null, which is left out of a mapping before it is seen here.
            problems.append(sentences.NOT_A_SERVICE.at(path, found=worded(content)))
            continue
        service, wrong = decode(alpha.Service, content, lenient=lenient)
        problems.extend(problem.under(*path) for problem in wrong)
        if service is None:
            continue
        if name and service.name and service.name != name:
            problems.append(sentences.SERVICE_NAMED_TWICE.at((*path, "name")))
        if not name and not service.name:
            problems.append(sentences.SERVICE_UNNAMED.at((*path, "name")))
            continue
        yield name or service.name, path, service


def _service(name: str, path: Path, given: alpha.Service) -> Component:
    sharing = given.gpu_memory_service
    shared = sharing is not None and sharing.enabled and sharing.mode == "interPod"
    return Component(
        **_component_fields(given),
        name=name,
        path=path,
        pod_spec=_pod_spec(given),
        pod_path=(*path, "extraPodSpec"),
        labels={**given.labels, **given.extra_pod_metadata.labels},
        annotations={**given.annotations, **given.extra_pod_metadata.annotations},
        shared=(*path, "gpuMemoryService", "mode") if shared else (),
    )


def _component(index: int, given: beta.Component) -> Component:
    template = given.pod_template
    path: Path = ("spec", "components", index)
    spec = template.spec if template is not None else None
    sharing = given.experimental.gpu_memory_service
    shared = sharing is not None and sharing.mode == "InterPod"
    return Component(
        **_component_fields(given),
        name=given.name,
        path=path,
        pod_spec=ASSUMED_POD if spec is None else spec,
        pod_path=(*path, "podTemplate", "spec"),
        labels=template.metadata.labels if template is not None else {},
        annotations=template.metadata.annotations if template is not None else {},
        forced=given.experimental.grove.force_scaling_group,
        shared=(*path, "experimental", "gpuMemoryService", "mode") if shared else (),
    )


# --------------------------------------------------------- the pods of a service, described in parts

_GPU = "nvidia.com/gpu"
_MAIN = "main"


def _pod_spec(given: alpha.Service) -> dict[str, Any]:
    """A pod's specification. A service that says nothing of its pods is assumed to need a GPU each."""
    if given.extra_pod_spec is None and given.resources is None:
        return ASSUMED_POD
    extra: dict[str, Any] = dict(given.extra_pod_spec or {})
    main = _main(extra.pop("mainContainer", {}), given.resources)
    others = extra.pop("containers", [])
    return {**extra, "containers": [main, *(others if isinstance(others, list) else [others])]}


def _main(written: Any, resources: alpha.Resources | None) -> Any:
    """The main container. What has the wrong type stays, and is reported when the whole pod is checked."""
    if not isinstance(written, dict):
        return written
    main: dict[str, Any] = {"name": _MAIN, **written}
    own = main.get("resources", {})
    if resources is not None and isinstance(own, dict):
        # What the service says wins over its main container, as the operator has it.
        for key, given in (("limits", resources.limits), ("requests", resources.requests)):
            inner = own.get(key, {})
            if (amounts := _named(given)) and isinstance(inner, dict):
                own = {**own, key: {**inner, **amounts}}
        if own:
            main["resources"] = own
    return main


def _named(given: alpha.ResourceItem) -> dict[str, Any]:
    """Amounts by the names that Kubernetes has for them."""
    named = {"cpu": given.cpu, "memory": given.memory, given.gpu_type or _GPU: given.gpu, **given.custom}
    return {name: quantity for name, quantity in named.items() if quantity is not None}
