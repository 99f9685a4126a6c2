"""Preemption: which running pods may be evicted for a waiting unit, and which of them are chosen.

Pure: time and limits are arguments, nothing is applied, and no call is made. The rules are those of
``docs/reference/scheduling-policy.md``.

| module | holds |
|---|---|
| ``running`` | units with pods on nodes, and which of their pods are surplus |
| ``eligibility`` | which units a waiting unit may take pods from, and since when |
| ``budgets`` | PodDisruptionBudgets as values |
| ``victim_order`` | the criteria by which one victim set is better than another |
| ``fair_share``, ``reclaim`` | what a queue deserves, and which victim sets another queue may take back |
| ``trials`` | whether a unit fits once some pods are gone, tried on a fork of the engine |
| ``victims`` | the search for the best victim set |
"""
