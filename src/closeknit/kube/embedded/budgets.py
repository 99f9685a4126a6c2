"""Disruption budgets: how many pods may go, counted anew whenever a pod or a budget changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from closeknit.kube.embedded import decoding, writing
from closeknit.kube.embedded.core import Core, WriteOptions
from closeknit.kube.embedded.deleting import PODS_TABLE
from closeknit.kube.embedded.selectors import label_selector_text, label_test
from closeknit.kube.embedded.store import Event, Record, Table
from closeknit.kube.errors import BadRequestError, Cause, InternalServerError, TooManyRequestsError
from closeknit.kube.numbers import digits

TABLE: Final = ("policy", "poddisruptionbudgets")


class Budgets:
    """Keeps the status of budgets true."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._stale: dict[str, None] = {}

    @property
    def idle(self) -> bool:
        """Whether every status is true."""
        return not self._stale

    def notice(self, table: Table, event: Event) -> None:
        """Take note of a write."""
        if table.key not in (PODS_TABLE, TABLE):
            return
        record = event.after or event.before
        assert record is not None
        if self._core.store.table(TABLE).spaces.get(record.key[0]):
            self._stale[record.key[0]] = None

    def sweep(self) -> None:
        """Write what has changed."""
        stale, self._stale = self._stale, {}
        for namespace in stale:
            for record in list(self._core.store.table(TABLE).records(namespace)):
                status = _status(self._core, record)
                if status != (record.obj.get("status") or {}):
                    obj = decoding.copied(record.obj)
                    obj["status"] = status
                    kind = self._core.kinds.by_table[TABLE]
                    writing.store_change(self._core, kind, record, obj, WriteOptions())


def respect(core: Core, pod: Record) -> None:
    """Refuse to evict a pod that its budget needs now."""
    found = list(_budgets_of(core, pod))
    if len(found) > 1:
        raise InternalServerError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    for budget in found:
        status = _status(core, budget)
        if _is_healthy(pod.obj) and status["disruptionsAllowed"] < 1:
            needed, healthy = status["desiredHealthy"], status["currentHealthy"]
            name = budget.key[1]
            detail = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
            raise TooManyRequestsError(
                "Cannot evict pod as it would violate the pod's disruption budget.",
                causes=(Cause("", detail, "DisruptionBudget"),),
            )


def _budgets_of(core: Core, pod: Record) -> Iterator[Record]:
    for budget in core.store.table(TABLE).records(pod.key[0]):
        if _covers(budget, pod):
            yield budget


def _covers(budget: Record, pod: Record) -> bool:
    selector = (budget.obj.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        test = label_test(label_selector_text(selector))
    except BadRequestError:
        return False
    return test is None or test(pod.peek()["metadata"].get("labels") or {})


def _status(core: Core, budget: Record) -> dict[str, Any]:
    pods = [
        pod
        for pod in core.store.table(PODS_TABLE).records(budget.key[0])
        if _covers(budget, pod) and _counts(pod.peek())
    ]
    spec, meta = budget.obj.get("spec") or {}, budget.obj["metadata"]
    healthy = sum(_is_healthy(pod.peek()) for pod in pods)
    if "maxUnavailable" in spec:
        needed = max(0, len(pods) - _share(spec["maxUnavailable"], len(pods)))
    else:
        needed = _share(spec.get("minAvailable", 1), len(pods))
    allowed = max(0, healthy - needed) if pods else 0
    word = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    earlier = ((budget.obj.get("status") or {}).get("conditions") or [{}])[0]
    changed = earlier.get("lastTransitionTime") if earlier.get("status") == word[0] else None
    condition = {
        "type": "DisruptionAllowed",
        "status": word[0],
        "observedGeneration": meta.get("generation", 1),
        "lastTransitionTime": changed or core.now(),
        "reason": word[1],
        "message": "",
    }
    return {
        "observedGeneration": meta.get("generation", 1),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "expectedPods": len(pods),
        "conditions": [condition],
    }


def _counts(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _is_healthy(pod: Mapping[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _share(amount: int | str, of: int) -> int:
    if isinstance(amount, int):
        return amount
    share = digits(amount.removesuffix("%"))
    return -(-share * of // 100) if share is not None else of
