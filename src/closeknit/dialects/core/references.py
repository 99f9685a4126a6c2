"""What pods claim by name."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from closeknit.apis import core_v1
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.core.volumes import own_claim
from closeknit.hub.request import Reference


def references(spec: core_v1.PodSpec, pod: ObjectMeta | None = None) -> tuple[Reference, ...]:
    """What a pod claims by name: devices, and volumes that may be reached from some nodes only.

    Claims that are made for its ephemeral volumes have a name once there is a pod.
    """
    return tuple(dict.fromkeys(_references(spec, pod)))


def _references(spec: core_v1.PodSpec, pod: ObjectMeta | None) -> Iterator[Reference]:
    for claim in spec.resource_claims:
        if claim.resource_claim_name:
            yield Reference("ResourceClaim", claim.resource_claim_name)
        elif claim.resource_claim_template_name:
            yield Reference("ResourceClaimTemplate", claim.resource_claim_template_name)
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield Reference("PersistentVolumeClaim", volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            template = _encoded(volume.ephemeral.volume_claim_template.spec).decode()
            if pod is None:
                yield Reference("PersistentVolumeClaim", "", template)
            else:
                name = own_claim(pod.name, volume.name)
                yield Reference("PersistentVolumeClaim", name, template, pod.uid or pod.name)


_encoded = msgspec.json.Encoder().encode
