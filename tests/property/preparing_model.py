"""The model of ``commit_model`` with claims that are made ready before pods are bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from closeknit.hub.keys import Key
from closeknit.scheduler.preparations import Prepare, Undo
from tests.property.commit_model import NAMES, Model

CLAIM_OF = {name: f"c{name}" for name in NAMES}


@dataclass
class PreparingModel(Model):
    """The same with claims that are made ready before pods are bound; each write names a version."""

    claims: dict[str, dict[str, Any]] = field(default_factory=dict)
    claim_of: Mapping[str, str] = field(default_factory=lambda: CLAIM_OF)
    """By pod, its claim."""
    versions: dict[int, int] = field(default_factory=dict)
    """By call that comes late, the version of the object that it names."""
    telling_at_once: bool = False

    def copy(self) -> Self:
        made = super().copy()
        made.claims, made.versions = deepcopy(self.claims), dict(self.versions)
        return made

    def written(self, call: Prepare | Undo) -> dict[str, Any]:
        """The object into which a call writes."""
        return self.claims[call.what.claim.name]

    def came_too_late(self, call: Prepare | Undo) -> bool:
        """Whether something else was written since the version that a call names."""
        named = self.versions.pop(id(call), None)
        return named is not None and named != int(self.written(call)["metadata"]["resourceVersion"])

    def changed(self, found: dict[str, Any]) -> None:
        """An object has a new version, of which nobody was told yet."""
        meta = found["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        group = found["apiVersion"].rpartition("/")[0]
        self.untold[Key(group, found["kind"], meta.get("namespace", ""), meta["name"])] = None

    def choices(self, budget: int, *, arrivals: bool) -> Iterator[tuple[str, Any]]:
        """News of claims are told at once: a claim that is told late is believed to be what was written."""
        told = [("tell", key) for key in self.untold if key.kind not in ("Pod", "Node")]
        if self.telling_at_once and told:
            yield told[0]
            return
        yield from super().choices(budget, arrivals=arrivals)

    def _unfair(self) -> Iterator[tuple[str, Any]]:
        """Faults at the claim of one pod, which is like the other; those at bindings are tried without claims."""
        for what, which in super()._unfair():
            call = self.flights[which].call if isinstance(which, int) else None
            ours = isinstance(call, Prepare | Undo) and call.what.claim.name == self.claim_of["p1"]
            if ours or what == "crash" or (what, which) == ("delete pod", "p1"):
                yield what, which

    def _late(self, i: int) -> None:
        call = self.flights[i].call
        if isinstance(call, Prepare | Undo):
            self.versions[id(call)] = int(self.written(call)["metadata"]["resourceVersion"])
        super()._late(i)

    def late(self) -> tuple[object, ...]:
        """Calls that come late, and whether they name a version that is current: versions only grow."""
        return tuple(
            sorted(
                (
                    repr(call),
                    self.versions[id(call)] == int(self.written(call)["metadata"]["resourceVersion"]),
                )
                for call in (each.call for each in self.flights)
                if isinstance(call, Prepare | Undo) and id(call) in self.versions
            )
        )
