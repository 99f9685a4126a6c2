"""ClusterTopologyBindings, under their earlier name too: KAI's Topology for each, and its drift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis.closeknit_keys import MANAGED_BY, OPERATOR
from closeknit.apis.grove_io_v1alpha1 import ClusterTopology, ClusterTopologyBinding
from closeknit.apis.kai_keys import SCHEDULER
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.controllers.grove.statuses import condition_of, generation_of, status_of
from closeknit.controllers.runtime.comparing import is_going
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.objects import conditions, owned
from closeknit.controllers.runtime.writes import NOTHING, Create, Decision, Delete, SetStatus, Tell, Write
from closeknit.dialects.core.owner_references import is_controlled_by
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.grove.render import kai_topology
from closeknit.dialects.grove.status import drift_event, scheduler_topology_drift
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


class _Observed(NamedTuple):
    binding: Stored[Any] | None
    wanted: Object | None
    """KAI's Topology; None where somebody else looks after it, or where the levels are wrong."""
    found: Stored[Topology] | None
    referred: Mapping[str, Stored[Topology]]
    """The Topologies of KAI that the binding refers to."""


def kai_key(name: str) -> Key:
    """The key of a Topology of KAI."""
    return Key("kai.scheduler", "Topology", "", name)


def observe(view: View, key: Key) -> _Observed:
    """A topology of Grove's, and the one of KAI that is made of it."""
    binding = view.get(key)
    if binding is None or is_going(binding):
        return _Observed(None, None, None, {})
    made = kai_topology(binding, view).objects
    return _Observed(
        binding,
        made_for(made[0], binding) if made else None,
        view.get(kai_key(key.name)),
        {
            each.topology_reference: found
            for each in getattr(binding.content.spec, "scheduler_topology_bindings", ())
            if each.scheduler_name == SCHEDULER
            and (found := view.get(kai_key(each.topology_reference))) is not None
        },
    )


def made_for(topology: Object, binding: Stored[Any]) -> Object:
    """KAI's Topology as the operator writes it: marked, and going when its binding does."""
    metadata = topology["metadata"]
    labels = {**metadata.get("labels", {}), MANAGED_BY: OPERATOR}
    return owned({**topology, "metadata": {**metadata, "labels": labels}}, binding.content)


def decide(observed: _Observed, now: datetime) -> Decision:
    """Make KAI's Topology, make it anew where its levels change, and tell where it has drifted."""
    binding = observed.binding
    if binding is None:
        return NOTHING
    return Decision((*_writes(observed, binding), *_told(observed, binding, now)))


def _writes(observed: _Observed, binding: Stored[Any]) -> Iterator[Write]:
    found, wanted = observed.found, observed.wanted
    ours = found is not None and is_controlled_by(found, binding)
    if found is not None and ours and (wanted is None or not has_levels_of(found, wanted)):
        # Its levels cannot be changed, so it is made anew when it has gone.
        yield Delete(found.key, found.content.metadata.uid)
    elif wanted is not None and found is None:
        yield Create(wanted)
    elif wanted is not None and found is not None and not ours and not is_going(found):
        yield Tell(binding.key, "TopologyNotOwned", not_owned(binding), warning=True, action="SyncTopology")


def has_levels_of(found: Stored[Topology], wanted: Object) -> bool:
    """Whether a Topology has just the levels that it should."""
    levels = [level.node_label for level in found.content.spec.levels]
    return levels == [level["nodeLabel"] for level in wanted["spec"]["levels"]]


def not_owned(binding: Stored[Any]) -> str:
    """Why a Topology of KAI is left alone."""
    kind, name = binding.object.kind, binding.name
    return (
        f"KAI Topology {name} is not owned by {kind} {name}. Delete it, or name it in "
        f"spec.schedulerTopologyBindings, so that somebody looks after it."
    )


def _told(observed: _Observed, binding: Stored[Any], now: datetime) -> Iterator[Write]:
    given = binding.content
    if not isinstance(given, ClusterTopologyBinding):
        return
    topologies = {name: each.content for name, each in observed.referred.items()}
    condition = scheduler_topology_drift(given, topologies)
    before = condition_of(binding, condition.type)
    old = Condition(condition.type, before["status"], "", "") if "status" in before else None
    if (event := drift_event(old, condition)) is not None:
        yield Tell(
            binding.key, event.reason, event.message, warning=event.type == "Warning", action="Compare"
        )
    fields: dict[str, Any] = {
        "observedGeneration": generation_of(binding),
        "conditions": conditions(
            status_of(binding).get("conditions") or (), [condition], now, generation=generation_of(binding)
        ),
        "schedulerTopologyStatuses": list(_statuses(given, observed)) or None,
    }
    yield SetStatus(binding.key, fields)


def _statuses(given: ClusterTopologyBinding, observed: _Observed) -> Iterator[dict[str, Any]]:
    for each in given.spec.scheduler_topology_bindings:
        found = observed.referred.get(each.topology_reference)
        alone = ClusterTopologyBinding(
            api_version=given.api_version,
            kind=given.kind,
            metadata=given.metadata,
            spec=type(given.spec)(levels=given.spec.levels, scheduler_topology_bindings=(each,)),
        )
        state = scheduler_topology_drift(
            alone, {each.topology_reference: found.content} if found is not None else {}
        )
        told: dict[str, Any] = {
            "schedulerName": each.scheduler_name,
            "topologyReference": each.topology_reference,
            "inSync": state.status == "False",
        }
        if found is not None:
            told["schedulerBackendTopologyObservedGeneration"] = generation_of(found)
        if state.status != "False":
            told["message"] = state.message
        yield told


BINDINGS = Controller("grove-clustertopology", ClusterTopologyBinding, observe, decide)
EARLIER_TOPOLOGIES = Controller("grove-clustertopology", ClusterTopology, observe, decide)
