"""Kubernetes' own gangs: PodGroups, the Workloads that they are made of, and pods that name them."""

from __future__ import annotations

from closeknit.dialects.kubernetes.family import KUBERNETES

__all__ = ["KUBERNETES"]
