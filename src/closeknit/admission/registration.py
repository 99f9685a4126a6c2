"""Keeps the certificates of a webhook current: shown by the server, and trusted by the API servers."""

from __future__ import annotations

import base64
from collections.abc import Collection
from random import Random
from typing import Any, Final

from closeknit.admission.certificates import Kept
from closeknit.admission.keeping import Keeper, UnusableCertificateError
from closeknit.admission.server import Webhook
from closeknit.kube.clock import Clock
from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.port import ApplyPatch, JsonPatch, KubernetesApi
from closeknit.kube.resources import Resource
from closeknit.live.log import Log

MUTATING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
_EVERY: Final = 60.0
"""Seconds between two looks."""


async def trust(api: KubernetesApi, name: str, bundle: bytes) -> int:
    """Have API servers trust these authorities, and say how many configurations had to be changed.

    A configuration that is not there is passed over: who installs it is somebody else.
    """
    written = base64.b64encode(bundle).decode()
    changed = 0
    for resource in (MUTATING, VALIDATING):
        try:
            found = await api.get(resource, name)
        except NotFoundError:
            continue
        operations: list[dict[str, Any]] = []
        for i, entry in enumerate(found.get("webhooks") or ()):
            if entry["clientConfig"].get("caBundle") != written:
                operations += (
                    # Whoever rewrites the list meanwhile makes the whole patch fail, and it is made anew.
                    {"op": "test", "path": f"/webhooks/{i}/name", "value": entry["name"]},
                    {"op": "add", "path": f"/webhooks/{i}/clientConfig/caBundle", "value": written},
                )
        if operations:
            await api.patch(resource, name, JsonPatch(operations))
            changed += 1
    return changed


async def install(api: KubernetesApi, configurations: Collection[dict[str, Any]]) -> None:
    """Create or update webhook configurations, for a webhook that no chart has installed."""
    for wanted in configurations:
        resource = MUTATING if wanted["kind"] == MUTATING.kind else VALIDATING
        patch = ApplyPatch(wanted, manager="closeknit-admission", force=True)
        await api.patch(resource, wanted["metadata"]["name"], patch)


class Renewal:
    """Looks at the certificates again and again, and passes on what has changed."""

    def __init__(
        self,
        api: KubernetesApi,
        keeper: Keeper,
        *,
        name: str,
        clock: Clock,
        random: Random,
        log: Log,
    ) -> None:
        self._api = api
        self._keeper = keeper
        self._name = name
        self._clock = clock
        self._random = random
        self._log = log
        self._shown: Kept | None = None

    async def first(self) -> Kept:
        """The certificates to begin with; raises where there are none to be had."""
        self._shown = await self._keeper.look()
        return self._shown

    async def run(self, webhook: Webhook) -> None:
        """Keep them current until cancelled. What fails is tried again."""
        while True:
            try:
                await self.look(webhook)
            except (ApiError, UnusableCertificateError) as error:
                self._log.warning("certificates not renewed", why=str(error))
            await self._clock.sleep(_EVERY * self._random.uniform(0.8, 1.2))

    async def look(self, webhook: Webhook) -> None:
        """Look once. An authority is trusted before its certificate is shown."""
        kept = await self._keeper.look()
        if kept.bundle and await trust(self._api, self._name, kept.bundle):
            self._log.info("authorities passed on", configurations=self._name)
        if self._shown is None or kept.current != self._shown.current:
            webhook.show(kept.current)
            self._log.info("certificate shown", until=kept.current.ends.isoformat())
        self._shown = kept
