"""Before Grove's controllers begin: the topology that the operator's configuration describes is written.

With levels, there is a ClusterTopologyBinding of them and KAI's Topology of that; where one of them cannot be
written, the operator does not start. Switched off, both go, and a failure to delete them is only logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from closeknit.apis.closeknit_keys import MANAGED_BY, OPERATOR
from closeknit.apis.grove_io_v1alpha1 import ClusterTopologyBinding
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.controllers.grove.topologies import has_levels_of, made_for, not_owned
from closeknit.dialects.core.owner_references import is_controlled_by
from closeknit.dialects.family import Object
from closeknit.dialects.grove.express import to_binding
from closeknit.dialects.grove.topologies import (
    MANAGED,
    configuration_problems,
    in_fixed_order,
    to_topology,
)
from closeknit.dialects.kai.to_pod_group import to_topology_object
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import grove as sentences
from closeknit.hub.topology import Topology as HubTopology
from closeknit.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from closeknit.kube.port import ApplyPatch, DeleteOptions, KubernetesApi
from closeknit.kube.resources import Resource
from closeknit.live.entries import key_of, safely, whole_entry_of
from closeknit.live.log import Log

_BINDING = Kind("grove.io", "ClusterTopologyBinding", ("v1alpha1",), ClusterTopologyBinding, namespaced=False)
_TOPOLOGY = Kind("kai.scheduler", "Topology", ("v1alpha1",), Topology, namespaced=False)
BINDINGS = Resource(
    "grove.io",
    "v1alpha1",
    "clustertopologybindings",
    "ClusterTopologyBinding",
    namespaced=False,
    subresources=("status",),
)
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
_MANAGER = "closeknit-grove"
_LOOKS = 50
"""How often it is looked whether an earlier Topology has gone, ..."""
_PAUSE = 0.2
"""... and after how many seconds each."""


async def start(api: KubernetesApi, settings: Sequence[Entry], log: Log) -> None:
    """Write or delete the configured topology. Raises ``InvalidError`` where the operator cannot start."""
    found = [each.content for each in settings if isinstance(each, Stored)]
    configurations = [each for each in found if isinstance(each, OperatorConfiguration)]
    if not configurations:
        return
    (configuration, *_) = configurations
    switch = configuration.topology_aware_scheduling
    if not switch.enabled:
        await _remove(api, log)
        return
    try:
        bound = bool((await api.list(BINDINGS, limit=1)).items)
        if problems := tuple(configuration_problems(configuration, bound=bound)):
            raise InvalidError(problems)
        if switch.levels:
            topology = to_topology(MANAGED, in_fixed_order(switch.levels))
            await _synchronize(api, topology, await _applied(api, topology))
    except ApiError as error:
        raise InvalidError(
            [sentences.TOPOLOGY_NOT_WRITTEN.at((), name=MANAGED, reason=str(error))]
        ) from error
    log.info("topology synchronized", name=MANAGED, levels=len(switch.levels or ()))


async def _applied(api: KubernetesApi, topology: HubTopology) -> Stored[Any]:
    body = to_binding(topology)
    marked = {**body, "metadata": {**body["metadata"], "labels": {MANAGED_BY: OPERATOR}}}
    written = await api.patch(BINDINGS, MANAGED, ApplyPatch(marked, _MANAGER, force=True))
    return _stored(_BINDING, BINDINGS, written)


async def _synchronize(api: KubernetesApi, topology: HubTopology, binding: Stored[Any]) -> None:
    """Make KAI's Topology, or make it anew, since its levels cannot be changed."""
    wanted = made_for(to_topology_object(topology), binding)
    try:
        found = _stored(_TOPOLOGY, TOPOLOGIES, await api.get(TOPOLOGIES, MANAGED))
    except NotFoundError:
        await api.create(TOPOLOGIES, wanted, field_manager=_MANAGER)
        return
    if not is_controlled_by(found, binding):
        raise InvalidError([sentences.TOPOLOGY_NOT_WRITTEN.at((), name=MANAGED, reason=not_owned(binding))])
    if has_levels_of(found, wanted):
        return
    await api.delete(TOPOLOGIES, MANAGED, options=DeleteOptions(uid=found.content.metadata.uid))
    await _create_when_gone(api, wanted)


async def _create_when_gone(api: KubernetesApi, wanted: Object) -> None:
    for look in range(_LOOKS):
        try:
            await api.create(TOPOLOGIES, wanted, field_manager=_MANAGER)
        except AlreadyExistsError:
            # Somebody's finalizer may hold it for a while.
            if look == _LOOKS - 1:
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return


async def _remove(api: KubernetesApi, log: Log) -> None:
    """Delete the binding that an earlier configuration described; KAI's Topology goes with it."""
    try:
        found = await api.get(BINDINGS, MANAGED)
        if (found["metadata"].get("labels") or {}).get(MANAGED_BY) == OPERATOR:
            await api.delete(BINDINGS, MANAGED, options=DeleteOptions(uid=found["metadata"]["uid"]))
            log.info("topology deleted", name=MANAGED)
    except NotFoundError:
        pass
    except ApiError as error:
        log.warning("topology not deleted", name=MANAGED, why=str(error))


def _stored(kind: Kind, resource: Resource, obj: Object) -> Stored[Any]:
    key: Key = key_of(kind, "", obj["metadata"]["name"])
    entry = safely(whole_entry_of, kind, resource.api_version, key, obj)
    if not isinstance(entry, Stored):
        reason = "; ".join(map(str, entry.problems))
        raise InvalidError([sentences.TOPOLOGY_NOT_WRITTEN.at((), name=MANAGED, reason=reason)])
    return entry
