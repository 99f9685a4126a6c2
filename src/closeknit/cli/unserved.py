"""Kinds that a cluster does not serve, and when that is worth a note.

There are no objects of them to miss. So it is where somebody speaks of one, or where the cluster has nothing
but what Kubernetes itself has, and may not be the one that was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from closeknit.cli.clusters import upper
from closeknit.dialects import Kind, Served, Source
from closeknit.kube.resources import Resource
from closeknit.scheduler.wording import listed

_API_VERSION = re.compile(rb"""apiVersion["']?\s*:\s*["']?([\w./-]+)""")


@dataclass(frozen=True, slots=True)
class Unserved:
    """Those of the kinds that are read."""

    kinds: tuple[Kind, ...]
    """Without those that a cluster may lack; see ``Kind.optional``."""
    whole: frozenset[str] = frozenset()
    """The groups of which none is served."""
    bare: bool = False
    """Whether nothing is served but what Kubernetes itself has."""

    def note(self, cluster: Served, files: Sequence[Source] = (), asked: str = "") -> str:
        """What to know about those that matter to files, to the cluster's objects, or as the kind asked for.

        Empty where there is nothing to know.
        """
        spoken_of = self.kinds if self.bare else self._spoken_of(cluster, files, asked)
        names = dict.fromkeys(
            each.group if each.group in self.whole else f"{each.kind} ({each.group})" for each in spoken_of
        )
        if not names:
            return ""
        all_names = listed(list(names), limit=len(names))
        return f"{upper(cluster.name)} does not serve {all_names}; nothing of these is read."

    def _spoken_of(self, cluster: Served, files: Sequence[Source], asked: str) -> list[Kind]:
        if not self.kinds:
            return []
        owners = {
            (owner.get("apiVersion"), owner.get("kind"))
            for each in cluster.objects
            for owner in each["metadata"].get("ownerReferences") or ()
        }
        # To look at the text is enough to know what a file may speak of, and takes no time.
        written = {match.decode() for file in files for match in _API_VERSION.findall(file.content)}

        def concerns(kind: Kind) -> bool:
            versions = [f"{kind.group}/{each}" for each in kind.versions]
            return kind.kind == asked or any(
                each in written or (each, kind.kind) in owners for each in versions
            )

        return [each for each in self.kinds if concerns(each)]


def unserved(kinds: Sequence[Kind], resources: Iterable[Resource]) -> Unserved:
    """The kinds that these resources lack, in any version."""
    served = {(each.group, each.kind) for each in resources}
    wanted = [each for each in kinds if each.named and each.served]
    found = {each.group for each in wanted if (each.group, each.kind) in served}
    missing = [each for each in wanted if (each.group, each.kind) not in served and not each.optional]
    return Unserved(
        tuple(missing),
        whole=frozenset(each.group for each in missing) - found,
        bare=bool(missing) and all(map(_is_own, found)),
    )


def _is_own(group: str) -> bool:
    """Whether a group is Kubernetes' own; what its projects define is in groups under ``x-k8s.io``."""
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
