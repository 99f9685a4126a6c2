"""The labels and annotations by which Closeknit itself is spoken to."""

from __future__ import annotations

RUN_SECONDS = "closeknit.dev/run-seconds"
"""Annotation of a PodGroup or an owner of pods: how many seconds it runs at most once it has started."""

MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label: who made the object."""
OPERATOR = "closeknit"
"""The value of ``MANAGED_BY`` for what a controller made of its configuration, for nobody else to change."""
OUTCOME = "closeknit.dev/outcome"
"""Annotation of what is scheduled: the outcome for programs."""
APPLIED = "closeknit.dev/applied"
"""Annotation of what a controller keeps: a digest of what it last wanted there."""
TEMPLATE_REPLICAS = "closeknit.dev/template-replicas"
"""Annotation of what may be scaled by its own: the replicas that its template asked for last."""
TEMPLATE = "closeknit.dev/template"
"""Annotation of a PodCliqueScalingGroup: a digest of the templates whose turn it is."""
START_IMAGE = "closeknit.dev/start-image"
"""Annotation of Grove's OperatorConfiguration: an image with this program, for pods that wait for others."""
LEFT_OUT = "closeknit.dev/left-out"
"""Annotation of what was translated: preferences that the other family has no words for."""
