"""The built-in kinds: what is served before any definition is created."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from closeknit.kube import resources
from closeknit.kube.embedded import small_kinds
from closeknit.kube.embedded.definitions import DefinitionRules
from closeknit.kube.embedded.kinds import Kind, Object, Rules
from closeknit.kube.embedded.pods import PodRules
from closeknit.kube.embedded.schema import parse
from closeknit.kube.embedded.selectors import field_readers
from closeknit.kube.embedded.shapes import kind_document, kind_schema
from closeknit.kube.port import Propagation
from closeknit.kube.resources import Resource

_POD_FIELDS: Final = (
    *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    *("spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
)
_EVENT_FIELDS: Final = (
    *(f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion")),
    *("involvedObject.resourceVersion", "involvedObject.fieldPath"),
    *("reason", "reportingComponent", "source", "type"),
)


def gang_kinds() -> Iterator[Kind]:
    """Kubernetes' own gang API, which it does not serve either unless it is told to."""
    yield _kind(resources.POD_GROUPS, small_kinds.FixedRules())
    yield _kind(resources.WORKLOADS, small_kinds.FixedRules(), has_status=False)


def kinds() -> Iterator[Kind]:
    """Every built-in kind, made anew."""
    yield _kind(
        resources.NAMESPACES,
        small_kinds.NamespaceRules(),
        fields=("status.phase",),
        label_name=True,
        counts_generations=False,
    )
    yield _kind(
        resources.NODES,
        small_kinds.NodeRules(),
        fields=("spec.unschedulable",),
        keeps_status=True,
        counts_generations=False,
    )
    yield _kind(resources.PODS, PodRules(), fields=_POD_FIELDS, returns_deleted=True)
    yield _kind(
        resources.CONFIG_MAPS, small_kinds.ConfigMapRules(), has_status=False, counts_generations=False
    )
    yield _kind(
        resources.SECRETS,
        small_kinds.ConfigMapRules(),
        fields=("type",),
        has_status=False,
        counts_generations=False,
    )
    yield _kind(
        resources.SERVICE_ACCOUNTS, Rules(), has_status=False, counts_generations=False, returns_deleted=True
    )
    yield _events()
    yield _kind(
        resources.LEASES,
        small_kinds.LeaseRules(),
        has_status=False,
        counts_generations=False,
        unconditional=False,
    )
    yield _kind(resources.PRIORITY_CLASSES, small_kinds.PriorityClassRules(), has_status=False)
    yield _kind(
        resources.JOBS, small_kinds.JobRules(), fields=("status.successful",), propagation=Propagation.ORPHAN
    )
    yield _kind(BUDGETS, small_kinds.BudgetRules(), unconditional=False)
    yield _kind(resources.CUSTOM_RESOURCE_DEFINITIONS, DefinitionRules(), unconditional=False)
    yield _kind(resources.DEVICE_CLASSES, Rules(), has_status=False)
    yield _kind(resources.RESOURCE_CLAIMS, small_kinds.ClaimRules(), counts_generations=False)
    yield _kind(
        resources.RESOURCE_CLAIM_TEMPLATES,
        small_kinds.FixedRules(),
        has_status=False,
        counts_generations=False,
    )
    yield _kind(resources.RESOURCE_SLICES, Rules(), fields=("spec.nodeName", "spec.driver"), has_status=False)
    yield job_sets()


BUDGETS: Final = Resource(
    "policy",
    "v1",
    "poddisruptionbudgets",
    "PodDisruptionBudget",
    short_names=("pdb",),
    subresources=("status",),
)


def _kind(resource: Resource, rules: Rules, *, fields: tuple[str, ...] = (), **settings: Any) -> Kind:
    return Kind(
        key=(resource.group, resource.plural),
        resources={resource.version: resource},
        storage=resource.version,
        schemas={resource.version: kind_schema(resource.kind)},
        rules=rules,
        selectable=field_readers(fields),
        **settings,
    )


def job_sets() -> Kind:
    """JobSets, as if their definition had been created: a custom resource, with no defaults in templates."""
    resource = resources.JOB_SETS
    document = kind_document("JobSet")
    spec = document["properties"]["spec"]
    jobs = spec["properties"]["replicatedJobs"]
    item = {**jobs["items"], "properties": dict(jobs["items"]["properties"])}
    item["properties"]["template"] = _without_defaults(item["properties"]["template"])
    jobs = {**jobs, "items": item}
    spec = {**spec, "properties": {**spec["properties"], "replicatedJobs": jobs}}
    document = {**document, "properties": {**document["properties"], "spec": spec}}
    return Kind(
        key=(resource.group, resource.plural),
        resources={resource.version: resource},
        storage=resource.version,
        schemas={resource.version: parse(document)},
        builtin=False,
        unconditional=False,
        selectable=field_readers(()),
    )


def _without_defaults(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _without_defaults(value) for name, value in document.items() if name != "default"}
    return document


# Events have two spellings and one store.

_EVENT_NAMES: Final[Mapping[str, str]] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def _renamed(names: Mapping[str, str], api_version: str) -> Callable[[Object], Object]:
    def rename(obj: Object) -> Object:
        return {**{names.get(name, name): value for name, value in obj.items()}, "apiVersion": api_version}

    return rename


def _events() -> Kind:
    old, new = resources.CORE_EVENTS, resources.EVENTS
    kind = _kind(
        old, small_kinds.EventRules(), fields=_EVENT_FIELDS, has_status=False, counts_generations=False
    )
    # Both groups call their version v1, so the newer spelling is kept apart by its group.
    version = f"{new.group}/{new.version}"
    kind.resources[version] = new
    kind.schemas[version] = kind_schema("NewEvent")
    kind.to_storage = {version: _renamed(_EVENT_NAMES, old.api_version)}
    kind.from_storage = {
        version: _renamed({one: other for other, one in _EVENT_NAMES.items()}, new.api_version)
    }
    return kind
