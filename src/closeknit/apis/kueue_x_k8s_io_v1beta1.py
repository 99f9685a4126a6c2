"""kueue.x-k8s.io/v1beta1: where it differs from v1beta2 in more than a name."""

from __future__ import annotations

from closeknit.apis.wire import Int32, Wire


class TopologyDomainAssignment(Wire, frozen=True, kw_only=True):
    """How many pods go to one domain, named by the values of its levels."""

    values: list[str]
    count: Int32


class TopologyAssignment(Wire, frozen=True, kw_only=True):
    """How many pods go to which domain, each written out."""

    levels: list[str]
    domains: list[TopologyDomainAssignment]
