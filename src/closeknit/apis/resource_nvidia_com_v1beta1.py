"""resource.nvidia.com/v1beta1: ComputeDomain, as far as the claims of its pods are concerned."""

from __future__ import annotations

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import OpenWire

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The class of the channel that a pod of a ComputeDomain gets; every node has one."""


class TemplateName(OpenWire, frozen=True, kw_only=True):
    """The ResourceClaimTemplate that is made for the domain."""

    name: str = ""


class Channel(OpenWire, frozen=True, kw_only=True):
    """How pods get their channels."""

    resource_claim_template: TemplateName = TemplateName()
    allocation_mode: str = "Single"


class ComputeDomainSpec(OpenWire, frozen=True, kw_only=True):
    """What a domain is made of."""

    channel: Channel = Channel()


class ComputeDomain(KubernetesObject, frozen=True, kw_only=True):
    """Nodes whose GPUs reach each other's memory, while pods hold channels of it."""

    spec: ComputeDomainSpec = ComputeDomainSpec()
