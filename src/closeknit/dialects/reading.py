"""From files to hub: what ``read`` returns, and how it gets there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from closeknit.dialects.places import Located, Skipped, Source
from closeknit.hub.cluster import Cluster
from closeknit.hub.workload import Workload


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was found in a bag of documents."""

    cluster: Cluster
    """Topologies, nodes, and what bound and unfinished pods hold."""
    workloads: tuple[Workload, ...]
    """In queue order: priority, then creation time, then name. An invalid one has no request."""
    problems: tuple[Located, ...]
    """All problems of all documents, each once, in the order of the documents."""
    skipped: tuple[Skipped, ...] = ()
    """Documents of kinds that nobody here reads."""


def read(sources: Sequence[Source], *, lenient: bool = False) -> Reading:
    """Read plain Kubernetes objects in any mix and order, multi-document YAML or JSON.

    Never raises for anything that a source may contain. Whatever could be
    understood is in the result beside the problems of the rest; a caller that
    wants all or nothing looks at ``problems`` first. ``lenient`` passes over
    fields that are not known, and over what only a whole cluster could resolve.
    """
    raise NotImplementedError
