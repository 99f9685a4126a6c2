"""From a request to an answer."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from closeknit.kube.embedded import decoding, subresources
from closeknit.kube.embedded.cluster import ADMINISTRATOR, VERSION, EmbeddedCluster
from closeknit.kube.embedded.core import Target, WriteOptions
from closeknit.kube.embedded.http import answers, bodies, discovery, openapi
from closeknit.kube.embedded.http.limits import Limits
from closeknit.kube.embedded.http.paths import (
    Route,
    delete_options,
    dry_run,
    flag,
    number,
    route_of,
    selection_of,
)
from closeknit.kube.embedded.http.watching import Stream, Turnstile, WatchRequest
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.records import key_of
from closeknit.kube.embedded.store import Record
from closeknit.kube.errors import (
    ApiError,
    BadRequestError,
    MethodNotAllowedError,
    NotFoundError,
    UnauthorizedError,
)
from closeknit.kube.resources import PODS

_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz"})
_AGGREGATED: Final = "apidiscovery.k8s.io"


class Handler:
    """Answers the requests of all clients of one cluster."""

    def __init__(self, cluster: EmbeddedCluster, token: str, *, turnstile: Turnstile, limits: Limits) -> None:
        self._cluster = cluster
        self._core = cluster.core
        self._records = cluster.records
        self._credential = f"Bearer {token}".encode()
        self._turnstile = turnstile
        self._limits = limits

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer; what is refused gets a Status."""
        try:
            if request.path in _HEALTH:
                return web.Response(text="ok", headers=answers.HEADERS)
            self._authenticate(request)
            route = route_of(request.rel_url.raw_path)
            if route is not None and route == _bindings(route.namespace) and request.method == "POST":
                return await self._bind(request, route)
            if route is not None and (found := self._kind(route)) is not None:
                return await self._resource(request, route, *found)
            return self._about(request, route)
        except ApiError as error:
            return answers.refusal(error)

    def _authenticate(self, request: web.BaseRequest) -> None:
        given = request.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._credential):
            raise UnauthorizedError("Unauthorized")

    def _kind(self, route: Route) -> tuple[Kind, str] | None:
        return self._core.kinds.find(route.group, route.version, route.plural)

    # -------------------------------------------------------------------------------- about the server

    def _about(self, request: web.BaseRequest, route: Route | None) -> web.Response:
        if route is not None or request.method != "GET":
            plural = f"{route.plural}.{route.group}".strip(".") if route is not None else ""
            asked = f" ({request.method.lower()} {plural})" if plural else ""
            raise NotFoundError(f"the server could not find the requested resource{asked}")
        kinds = self._core.kinds
        parts = request.path.strip("/").split("/")
        answer: Any = None
        match parts:
            case ["api"] | ["apis"]:
                core = parts == ["api"]
                if _AGGREGATED in request.headers.get("Accept", ""):
                    response = answers.json_answer(discovery.aggregated(kinds, core=core))
                    response.headers["Content-Type"] = (
                        f"application/json;g={_AGGREGATED};v=v2;as=APIGroupDiscoveryList"
                    )
                    return response
                answer = discovery.core_versions(request.host) if core else discovery.groups(kinds)
            case ["api", version]:
                answer = discovery.resource_list(kinds, "", version)
            case ["apis", group]:
                answer = discovery.group(kinds, group)
            case ["apis", group, version]:
                answer = discovery.resource_list(kinds, group, version)
            case ["openapi", "v2"]:
                body, media = openapi.older(request.headers.get("Accept", ""))
                return web.Response(body=body, content_type=media, headers=answers.HEADERS)
            case ["openapi", "v3"]:
                answer = openapi.index(kinds)
            case ["openapi", "v3", "api", version]:
                answer = openapi.document(kinds, "", version)
            case ["openapi", "v3", "apis", group, version]:
                answer = openapi.document(kinds, group, version)
            case ["version"]:
                major, minor, _ = VERSION.removeprefix("v").split(".")
                answer = {
                    "major": major,
                    "minor": minor,
                    "gitVersion": VERSION,
                    "platform": "closeknit/embedded",
                }
            case _:
                pass
        if answer is None:
            raise NotFoundError("the server could not find the requested resource")
        return answers.json_answer(answer)

    # --------------------------------------------------------------------------------------- resources

    async def _resource(
        self, request: web.BaseRequest, route: Route, kind: Kind, version: str
    ) -> web.StreamResponse:
        if kind.namespaced and not route.namespace and (route.name or request.method not in ("GET", "HEAD")):
            raise NotFoundError("the server could not find the requested resource")
        if not kind.namespaced and route.namespace:
            raise NotFoundError("the server could not find the requested resource")
        resource = kind.resources[version]
        if route.subresource and route.subresource not in resource.subresources:
            raise NotFoundError("the server could not find the requested resource")
        match request.method, bool(route.name):
            case ("GET" | "HEAD", True):
                return await self._get(request, route, kind, version)
            case ("GET" | "HEAD", False):
                return await self._list_or_watch(request, route, kind, version)
            case ("POST", _) if not route.name or route.subresource:
                return await self._post(request, route, kind, version)
            case ("PUT" | "PATCH", True):
                return await self._change(request, route, kind, version)
            case ("DELETE", True) if not route.subresource:
                return await self._delete(request, route, kind, version)
            case ("DELETE", False):
                return await self._delete_many(request, route, kind, version)
            case _:
                raise MethodNotAllowedError("the server does not allow this method on the requested resource")

    async def _get(self, request: web.BaseRequest, route: Route, kind: Kind, version: str) -> web.Response:
        if route.subresource in ("binding", "eviction"):
            raise MethodNotAllowedError("the server does not allow this method on the requested resource")
        record = await self._records.find(kind, (route.namespace, route.name))
        if route.subresource == "scale":
            return answers.json_answer(subresources.scale_of(kind, version, record.obj))
        return self._one(request, kind, version, record)

    async def _list_or_watch(
        self, request: web.BaseRequest, route: Route, kind: Kind, version: str
    ) -> web.StreamResponse:
        query = request.query
        form = answers.form_of(request.headers.get("Accept", ""), query.get("includeObject", ""))
        selection = selection_of(route, query)
        if flag(query, "watch"):
            watch = WatchRequest(
                kind=kind,
                version=version,
                selection=selection,
                form=form,
                resource_version=query.get("resourceVersion", ""),
                seconds=number(query, "timeoutSeconds"),
                bookmarks=flag(query, "allowWatchBookmarks"),
                initial=flag(query, "sendInitialEvents"),
            )
            client = f"{request.remote} {request.headers.get('User-Agent', '')}"
            with self._turnstile.place(client):
                return await Stream(self._cluster, watch, patience=self._limits.unread_seconds).run(request)
        found = await self._records.find_all(
            kind,
            selection,
            limit=number(query, "limit"),
            token=query.get("continue", ""),
            resource_version=query.get("resourceVersion", ""),
            exact=query.get("resourceVersionMatch") == "Exact",
        )
        return answers.bytes_answer(answers.many(kind, version, found, form, self._core.clock.now()))

    async def _post(self, request: web.BaseRequest, route: Route, kind: Kind, version: str) -> web.Response:
        if route.subresource == "binding":
            return await self._bind(request, route)
        target = self._target(request, route, kind, version)
        body = await self._sent(request, target)
        if route.subresource == "eviction":
            return await self._evict(request, body, target)
        if route.subresource:
            raise MethodNotAllowedError("the server does not allow this method on the requested resource")
        _place(kind, route, body)
        record = await self._records.create(target, body)
        return self._one(request, kind, version, record, target=target, status=201)

    async def _bind(self, request: web.BaseRequest, route: Route) -> web.Response:
        """Put a pod on a node. Which pod, the path may leave to the body."""
        kind, version = self._core.kinds.of(PODS)
        body = await self._sent(request, self._target(request, route, kind, version))
        pod = (route.namespace, route.name or key_of(kind, body)[1])
        await self._records.bind(pod, body, dry_run=dry_run(request.query.get("dryRun", "")))
        return answers.json_answer(_success(), status=201)

    async def _evict(self, request: web.BaseRequest, body: Mapping[str, Any], target: Target) -> web.Response:
        inner = body.get("deleteOptions")
        options = delete_options(request.query, inner if isinstance(inner, Mapping) else {})
        await self._records.evict(target, options)
        return answers.json_answer(_success(), status=201)

    async def _change(self, request: web.BaseRequest, route: Route, kind: Kind, version: str) -> web.Response:
        target = self._target(request, route, kind, version)
        status = 200
        if request.method == "PUT":
            sent = await self._sent(request, target)
            if not route.subresource:
                _place(kind, route, sent)
            record = await self._records.replace(target, sent)
        else:
            query = request.query
            raw = await bodies.body_of(request, self._limits.body_seconds)
            patch, repeated = await bodies.read_patch(
                raw, request.content_type, manager=query.get("fieldManager", ""), force=flag(query, "force")
            )
            decoding.report_findings(kind, version, repeated, target.options)
            record, new = await self._records.patch(target, patch)
            status = 201 if new else 200
        if route.subresource == "scale":
            return answers.json_answer(subresources.scale_of(kind, version, record.obj))
        return self._one(request, kind, version, record, target=target, status=status)

    async def _delete(self, request: web.BaseRequest, route: Route, kind: Kind, version: str) -> web.Response:
        options = delete_options(request.query, await self._optional_body(request))
        target = self._target(request, route, kind, version)
        record, success = await self._records.delete(target, options)
        if success is not None:
            return answers.json_answer(success)
        return self._one(request, kind, version, record)

    async def _delete_many(
        self, request: web.BaseRequest, route: Route, kind: Kind, version: str
    ) -> web.Response:
        options = delete_options(request.query, await self._optional_body(request))
        target = self._target(request, route, kind, version)
        await self._records.delete_all(target, selection_of(route, request.query), options)
        return answers.json_answer(_success())

    # ------------------------------------------------------------------------------------------- parts

    async def _sent(self, request: web.BaseRequest, target: Target) -> Object:
        """The object in the body."""
        raw = await bodies.body_of(request, self._limits.body_seconds)
        sent = await bodies.read_object(raw, request.content_type)
        decoding.report_findings(target.kind, target.version, sent.repeated, target.options)
        content: Object = sent.content
        return content

    async def _optional_body(self, request: web.BaseRequest) -> Mapping[str, Any]:
        raw = await bodies.body_of(request, self._limits.body_seconds)
        if not raw.strip():
            return {}
        content: Object = (await bodies.read_object(raw, request.content_type)).content
        return content

    def _target(self, request: web.BaseRequest, route: Route, kind: Kind, version: str) -> Target:
        query = request.query
        validation = query.get("fieldValidation", "") or "Warn"
        if validation not in ("Strict", "Warn", "Ignore"):
            raise BadRequestError(f"fieldValidation must be Strict, Warn or Ignore, and is {validation!r}.")
        agent = request.headers.get("User-Agent", "").split("/")[0]
        options = WriteOptions(
            manager=(query.get("fieldManager") or agent or "unknown")[:128],
            user=ADMINISTRATOR,
            dry_run=dry_run(query.get("dryRun", "")),
            field_validation=validation,
        )
        return Target(
            kind=kind,
            version=version,
            key=(route.namespace, route.name),
            subresource=route.subresource,
            options=options,
        )

    def _one(
        self,
        request: web.BaseRequest,
        kind: Kind,
        version: str,
        record: Record,
        *,
        target: Target | None = None,
        status: int = 200,
    ) -> web.Response:
        form = answers.form_of(request.headers.get("Accept", ""), request.query.get("includeObject", ""))
        body = answers.one(kind, version, record, form, self._core.clock.now())
        warnings = target.options.warnings if target is not None else ()
        return answers.bytes_answer(body, status=status, warnings=warnings)


def _bindings(namespace: str) -> Route:
    return Route("", "v1", "bindings", namespace)


def _place(kind: Kind, route: Route, body: Object) -> None:
    """Put an object where the path says, or refuse it where it says otherwise."""
    meta = body.get("metadata")
    if meta is None:
        meta = body["metadata"] = {}
    if not isinstance(meta, dict) or not kind.namespaced:
        return
    if meta.setdefault("namespace", route.namespace) not in ("", route.namespace):
        raise BadRequestError(
            f"the namespace of the provided object does not match the namespace sent on the request: "
            f"{meta['namespace']} and {route.namespace}"
        )
    meta["namespace"] = route.namespace


def _success() -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
