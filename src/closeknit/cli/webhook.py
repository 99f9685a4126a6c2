"""The options of the admission webhook, and what is made of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.admission.instance import Admission
    from closeknit.admission.keeping import Keeper
    from closeknit.dialects.store.store import Entry
    from closeknit.kube.port import KubernetesApi
    from closeknit.live.log import Log

Port = Annotated[
    int,
    typer.Option(
        "--webhook-port",
        min=0,
        max=65535,
        metavar="N",
        help="Review writes for the API server on this port. Left out: no.",
    ),
]
Host = Annotated[str, typer.Option("--webhook-host", metavar="ADDRESS", help="Where the webhook listens.")]
Service = Annotated[
    str,
    typer.Option(
        "--webhook-service",
        metavar="NAME",
        help="The Service in front of the webhook. Its certificate is kept in Secret NAME-certificates.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--webhook-certificates",
        metavar="FOLDER",
        help="tls.crt, tls.key and perhaps ca.crt, which somebody else renews. Left out: makes its own.",
    ),
]
Url = Annotated[
    str,
    typer.Option(
        "--webhook-url",
        metavar="URL",
        help="Install the webhook configurations: API servers reach it here. Left out: a chart has done so.",
    ),
]
Configuration = Annotated[
    str,
    typer.Option("--webhook-configuration", metavar="NAME", help="The name of the webhook configurations."),
]
Operators = Annotated[
    list[str],
    typer.Option(
        "--operator-user",
        metavar="NAME",
        help="Who may change what operators made of their configuration. May repeat.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """How admission is to be run."""

    port: int
    host: str
    service: str
    folder: Path | None
    url: str
    configuration: str
    operators: Collection[str]

    def check(self) -> None:
        """Refuse what cannot be meant."""
        url = urlsplit(self.url)
        if self.url and (url.scheme != "https" or not url.hostname):
            raise InvalidError([sentences.NO_WEBHOOK_URL.at((Verbatim("--webhook-url"),), url=self.url)])

    def admission(
        self,
        api: KubernetesApi,
        namespace: str,
        external: Collection[str],
        configured: Sequence[Entry],
        log: Log,
    ) -> Admission:
        """Admission of all families but those that somebody else looks after."""
        from closeknit.admission.instance import Admission, Settings
        from closeknit.admission.reviewer import FAMILIES

        settings = Settings(
            families=tuple(name for name in FAMILIES if name not in external),
            operators=frozenset(self.operators),
            host=self.host,
            port=self.port,
            name=self.configuration,
            url=self.url.rstrip("/"),
            configured=tuple(configured),
        )
        # The dice spread calls in time, and guard nothing.
        return Admission(api, settings, self._keeper(api, namespace), log=log, random=Random())  # noqa: S311

    def _keeper(self, api: KubernetesApi, namespace: str) -> Keeper:
        from closeknit.admission.keeping import InFiles, InMemory, InSecret
        from closeknit.kube.clock import SYSTEM_CLOCK

        if self.folder is not None:
            return InFiles(self.folder)
        if self.service:
            hosts = (f"{self.service}.{namespace}.svc",)
            return InSecret(api, namespace, f"{self.service}-certificates", hosts, SYSTEM_CLOCK)
        return InMemory((urlsplit(self.url).hostname or self.host,), SYSTEM_CLOCK)
