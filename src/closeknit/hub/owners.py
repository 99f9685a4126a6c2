"""The identity of an owner: by this, and by nothing less, an object is attributed to another.

A uid alone is no proof: anybody who may create objects in one namespace can write the uid of an object of
another into an ``ownerReference``, and API servers do not check it. Kubernetes therefore defines that an
owner has the kind that the reference names and is in the namespace of its dependent or cluster-wide; a
cluster-wide dependent has cluster-wide owners only (documentation "Owners and Dependents",
kubernetes/kubernetes#92743).
"""

from __future__ import annotations

from typing import NamedTuple


class OwnerIdentity(NamedTuple):
    """An object as others own it. The version is omitted: it is one object in all of them."""

    group: str
    """Empty for the core group."""
    kind: str
    namespace: str
    """Empty for a cluster-wide owner."""
    uid: str


def possible_owners(api_version: str, kind: str, uid: str, namespace: str) -> tuple[OwnerIdentity, ...]:
    """The owners that a reference of an object in this namespace can mean.

    Two for a namespaced object, since the reference does not say whether its kind is cluster-wide; no kind
    is both, so at most one of them exists. One for a cluster-wide object, none without a uid.
    """
    if not uid:
        return ()
    group = api_version.rpartition("/")[0]
    cluster_wide = OwnerIdentity(group, kind, "", uid)
    return (OwnerIdentity(group, kind, namespace, uid), cluster_wide) if namespace else (cluster_wide,)
