"""What the map's server says where it refuses something: every text once."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import aiohttp
import pytest

from tests.unit.server.shown import cluster_state, served

API = "api/v1/"


@pytest.mark.parametrize(
    ("path", "request_", "text"),
    [
        pytest.param(
            "map?topology=tre",
            {},
            "There is no topology of the name that the parameter topology gives. Did you mean tree?",
            id="an unknown topology",
        ),
        pytest.param(
            "workloads?state=lost",
            {},
            "The parameter state must be one of running, pending, incomplete, invalid.",
            id="an unknown state",
        ),
        pytest.param(
            "nodes?limit=-1", {}, "The parameter limit must be a whole number from 0 to 10000.", id="a number"
        ),
        pytest.param(
            f"workloads?name={'x' * 254}",
            {},
            "The parameter name may have 253 characters at most.",
            id="a name",
        ),
        pytest.param(
            "workloads/PodGroup/default/no",
            {},
            "There is no such workload; /api/v1/workloads lists those that are there.",
            id="an unknown workload",
        ),
        pytest.param(
            "plan", {"method": "POST"}, "The body must hold a manifest in YAML or JSON.", id="an empty body"
        ),
        pytest.param(
            "plan",
            {"method": "POST", "data": BytesIO(b"x" * (1 << 21))},
            "A body may have 1048576 bytes. For more, use closeknit plan --context NAME -f FILE.",
            id="a large body",
        ),
        pytest.param(
            "map",
            {"method": "DELETE"},
            "Nothing can be changed here. Read with GET, or ask /api/v1/plan with POST.",
            id="another method",
        ),
        pytest.param(
            "map",
            {"headers": {"Host": "evil.example"}},
            "The Host header names another server.",
            id="another host",
        ),
        pytest.param(
            "nothing",
            {},
            "There is no such address. /openapi.json lists those that there are.",
            id="an unknown path",
        ),
    ],
)
async def test_a_refusal(path: str, request_: dict[str, Any], text: str) -> None:
    arguments = {"method": "GET", **request_}
    async with (
        served(cluster_state()) as server,
        aiohttp.ClientSession() as session,
        session.request(url=f"{server.address}{API}{path}", **arguments) as response,
    ):
        refused = await response.json(content_type="application/problem+json")

    assert refused["detail"] == text
