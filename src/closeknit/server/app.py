"""The server: pages, the API and the stream of changes on one address. Read-only."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from urllib.parse import unquote

import msgspec
from aiohttp import web

from closeknit.kube.listening import Bounds, Listener
from closeknit.server.access import HEADERS, HEADERS_OF_TLS, Access, Rate
from closeknit.server.answers import Encoded, Shared
from closeknit.server.api import Api, Asked, RefusedError
from closeknit.server.documents import ProblemDocument
from closeknit.server.live_map import LiveMap
from closeknit.server.openapi import PROBLEM_TYPE, document
from closeknit.server.routes import EVENTS, ROOT, ROUTES, Route, checked
from closeknit.server.stream import Stream

_log = logging.getLogger(__name__)
LARGEST_BODY = 1 << 20
_BODY_SECONDS = 60.0
"""How long a body may take to arrive."""
COOKIE = "closeknit-token"
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_WORTH_COMPRESSING = 2_048
_COSTLY = (4.0, 12.0)
"""How often a client may ask the engine in a second, and how often at once."""
_USUAL = (50.0, 200.0)
_TITLES = {401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 413: "Content Too Large"}
_DETAILS = {
    404: "There is no such address. /openapi.json lists those that there are.",
    405: "Nothing can be changed here. Read with GET, or ask /api/v1/plan with POST.",
    413: f"A body may have {LARGEST_BODY} bytes. For more, use closeknit plan --context NAME -f FILE.",
}
"""What may be done instead; other refusals say so themselves."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MapServer:
    """Serves one live map. ``changed`` is set by whoever follows the cluster."""

    def __init__(
        self,
        live: LiveMap,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        access: Access | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.changed = asyncio.Event()
        self.changed.set()
        self.live = live
        self._api = Api(live)
        self._stream = Stream(live)
        self._shared = Shared(live, time.monotonic)
        self._host, self._port, self._tls = host, port, tls
        self._access = access or Access(host)
        self._usual = Rate(*_USUAL, time.monotonic)
        self._costly = Rate(*_COSTLY, time.monotonic)
        self._openapi = Encoded(document())
        self._static = _static()
        self._headers = HEADERS if tls is None else HEADERS_OF_TLS
        self._listener: Listener | None = None

    @property
    def address(self) -> str:
        """Where it listens; the port is known after ``start``."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self._port}/"

    async def start(self) -> None:
        """Listen. Raises OSError where the address is in use."""
        app = web.Application(middlewares=[self._guarded], client_max_size=LARGEST_BODY)
        app.on_response_prepare.append(self._secured)
        for route in ROUTES:
            app.router.add_route(route.method, f"{ROOT}{route.path}", self._answering(route))
        app.router.add_get(f"{ROOT}/events", self._events)
        app.router.add_get("/openapi.json", self._described)
        app.router.add_get("/{file:[a-z-]*(?:\\.[a-z]+)?}", self._page)
        self._listener = Listener(app, self._unanswered, Bounds(), max_line_size=1 << 16)
        self._port = await self._listener.start(self._host, self._port, self._tls)

    async def tell(self) -> None:
        """Keep the map up to date and tell its readers, until cancelled."""
        await self._stream.run(self.changed)

    async def stop(self) -> None:
        """Let go of all readers."""
        if self._listener is not None:
            await self._listener.stop()
            # Connections end in the next round of the event loop, which may be its last.
            await asyncio.sleep(0)

    # ---------------------------------------------------------------------------------------- answering

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            self._let_in(request)
            response = await handler(request)
        except RefusedError as refused:
            response = _problem(refused.document)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            title = _TITLES.get(error.status, error.reason or "Refused")
            detail = _DETAILS.get(error.status, f"{title}.")
            response = _problem(
                ProblemDocument(type="about:blank", title=title, status=error.status, detail=detail)
            )
            if allow := error.headers.get("Allow"):
                response.headers["Allow"] = allow
        return response

    async def _secured(self, _: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(self._headers)

    def _unanswered(self, status: int, detail: str) -> web.Response:
        """A problem document for what no handler saw to its end."""
        title = _TITLES.get(status, "Internal Server Error" if status >= 500 else "Bad Request")
        response = _problem(ProblemDocument(type="about:blank", title=title, status=status, detail=detail))
        response.headers.update(self._headers)
        return response

    def _let_in(self, request: web.Request) -> None:
        if not self._access.is_ours(request.headers.get("Host", "")):
            raise RefusedError(421, "Misdirected Request", "The Host header names another server.")
        if not self._access.may_ask(
            request.headers.get("Authorization", ""), unquote(request.cookies.get(COOKIE, ""))
        ) and request.path.startswith((ROOT, "/openapi.json")):
            raise RefusedError(401, "Unauthorized", "A token is needed: Authorization: Bearer TOKEN.")
        self._allow(request, self._usual)

    def _allow(self, request: web.Request, rate: Rate) -> None:
        wait = rate.wait(request.remote or "")
        if wait:
            raise RefusedError(429, "Too Many Requests", f"Asked too often; try again in {wait:.1f} s.")

    def _answering(self, route: Route) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            if route.costly:
                self._allow(request, self._costly)
            body = await _body(request) if route.method == "POST" else b""
            query = checked(route.parameters, request.query)
            asked = Asked(path=dict(request.match_info), query=query, body=body)
            self._api.live.refresh()
            if route.shared:
                answered = self._shared.get(
                    route.path, self._api.map_of(asked), lambda: route.answer(self._api, asked)
                )
            else:
                answered = Encoded(route.answer(self._api, asked))
            return _json(request, answered)

        return answer

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self._stream.full:
            raise RefusedError(503, "Service Unavailable", "Too many readers listen already.")
        asked = Asked(path={}, query=checked(EVENTS, request.query))
        topology = self._api.map_of(asked)
        generation = asked.number("generation", self._api.live.generation)
        version = asked.number("version", 0)
        return await self._stream.tell(request, topology, generation, version)

    async def _described(self, request: web.Request) -> web.StreamResponse:
        return _json(request, self._openapi)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["file"] or "index.html"
        found = self._static.get(name)
        if found is None:
            raise web.HTTPNotFound
        response = web.Response(body=found, content_type=_TYPES[name.rpartition(".")[2]], charset="utf-8")
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _body(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise RefusedError(
            408, "Request Timeout", f"The body took more than {_BODY_SECONDS:g} seconds."
        ) from None


def _json(request: web.Request, answered: Encoded) -> web.Response:
    response = web.Response(body=answered.plain, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    if len(answered.plain) >= _WORTH_COMPRESSING and "gzip" in request.headers.get("Accept-Encoding", ""):
        response.body = answered.compressed
        response.headers["Content-Encoding"] = "gzip"
    return response


def _problem(refusal: ProblemDocument) -> web.Response:
    response = web.Response(
        status=refusal.status, content_type=PROBLEM_TYPE, body=msgspec.json.encode(refusal)
    )
    if refusal.status == 429:
        response.headers["Retry-After"] = "1"
    return response


def _static() -> dict[str, bytes]:
    folder = files("closeknit.server") / "static"
    return {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES
    }
