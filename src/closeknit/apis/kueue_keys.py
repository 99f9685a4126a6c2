"""The labels and annotations by which Kueue is spoken to."""

from __future__ import annotations

_PREFIX = "kueue.x-k8s.io/"

QUEUE = f"{_PREFIX}queue-name"
"""Label of a workload: the LocalQueue."""

REQUIRE = f"{_PREFIX}require-topology"
"""Of the early design: the required level."""
PREFER = f"{_PREFIX}prefer-topology"
"""Of the early design: the preferred level."""
EARLY = (REQUIRE, PREFER)
"""The annotations of the early design."""

REQUIRED = f"{_PREFIX}podset-required-topology"
"""Annotation of a pod template: the required level."""
PREFERRED = f"{_PREFIX}podset-preferred-topology"
"""Annotation of a pod template: the preferred level."""
UNCONSTRAINED = f"{_PREFIX}podset-unconstrained-topology"
"""Annotation of a pod template: any place within the topology."""
SLICE_LEVEL = f"{_PREFIX}podset-slice-required-topology"
"""Annotation of a pod template: the level within one domain of which each slice must lie."""
SLICE_SIZE = f"{_PREFIX}podset-slice-size"
"""Annotation of a pod template: how many pods a slice has."""
SLICE_LAYERS = f"{_PREFIX}podset-slice-required-topology-constraints"
"""Annotation of a pod template: slices within slices."""
GROUP = f"{_PREFIX}podset-group-name"
"""Annotation of a pod template: pod sets that are placed together."""
TODAYS = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_LEVEL, SLICE_SIZE, SLICE_LAYERS, GROUP)
"""All by which today's design asks for a topology."""
