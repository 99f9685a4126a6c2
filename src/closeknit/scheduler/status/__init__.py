"""Status of units: reports, conditions and events, reconciled with what the cluster shows."""
