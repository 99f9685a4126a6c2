"""The webhook over TLS: one path for each family to review, and one to write defaults."""

from __future__ import annotations

import gc
import logging
import ssl
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, TypeAlias

from aiohttp import web

from closeknit.admission import wire
from closeknit.admission.metrics import Metrics
from closeknit.admission.reviewer import FAMILIES, NotReadYetError, Reviewer
from closeknit.kube.certificates import Certificate
from closeknit.kube.errors import ApiError

_log = logging.getLogger(__name__)
_Answer: TypeAlias = Callable[[str, bytes], Awaitable[tuple[bool, bytes]]]
"""Whether a write is allowed, and the answer."""
LARGEST: Final = 8 * 2**20
"""The most bytes of a request: an object and the one before, each as large as an API server takes them."""


class Webhook:
    """Answers API servers on one address.

    Where it cannot tell, it answers with an error; the API server then refuses what asks for a topology and
    lets the rest through.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        certificate: Certificate,
        *,
        host: str,
        port: int,
        metrics: Metrics | None = None,
    ) -> None:
        self._reviewer = reviewer
        self._metrics = metrics or Metrics()
        self._metrics.shown(certificate.ends)
        self._host = host
        self._port = port
        self._context: ssl.SSLContext = certificate.server_context()
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    def show(self, certificate: Certificate) -> None:
        """Show another certificate, in connections to come."""
        certificate.load_into(self._context)
        self._metrics.shown(certificate.ends)

    async def start(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/validate/{family}", self._answering("validate", self._validate))
        app.router.add_post("/mutate/{family}", self._answering("mutate", self._mutate))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=5)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port, ssl_context=self._context).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Answer what was asked, and listen no longer."""
        if self._runner is None:
            return
        serving = self._runner.server
        held = [] if serving is None else [each.transport for each in serving.connections]
        await self._runner.cleanup()
        for transport in held:
            # An API server keeps its connections open for later, and would be waited for.
            if transport is not None:
                transport.abort()

    def _answering(self, path: str, answer: _Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handler(request: web.Request) -> web.Response:
            family = request.match_info["family"]
            if family not in FAMILIES:
                raise web.HTTPNotFound
            sent = await request.read()
            began = monotonic()
            # What is made of a large object is gone in a moment; looking for garbage in it takes longer than
            # the review.
            collecting = gc.isenabled()
            gc.disable()
            try:
                result, response = await self._answered(answer, family, sent)
            finally:
                if collecting:
                    gc.enable()
            self._metrics.answered(path, family, result, monotonic() - began)
            return response

        return handler

    async def _answered(self, answer: _Answer, family: str, sent: bytes) -> tuple[str, web.Response]:
        """How it ended, and what is said."""
        try:
            allowed, body = await answer(family, sent)
        except wire.UnreadableReviewError as error:
            return "failed", web.Response(status=400, text=f"{error}\n")
        except NotReadYetError:
            return "failed", web.Response(status=503, text="The cluster has not been read yet.\n")
        except ApiError as error:
            return "failed", web.Response(status=503, text=f"The cluster cannot be asked: {error}\n")
        except Exception:  # noqa: BLE001 (one write must not keep the others from being reviewed)
            _log.exception("A write could not be reviewed.")
            said = "The write could not be reviewed. The log says why.\n"
            return "failed", web.Response(status=500, text=said)
        return "allowed" if allowed else "refused", web.Response(body=body, content_type="application/json")

    async def _validate(self, family: str, body: bytes) -> tuple[bool, bytes]:
        uid, request = wire.read(body)
        review = await self._reviewer.review(family, request)
        return review.allowed, wire.reviewed(uid, request, review)

    async def _mutate(self, family: str, body: bytes) -> tuple[bool, bytes]:
        uid, request = wire.read(body)
        return True, wire.changed(uid, request, await self._reviewer.defaulted(family, request))
