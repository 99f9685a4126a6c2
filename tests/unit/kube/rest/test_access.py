from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.kube.clock import SystemClock
from closeknit.kube.rest.access import REFRESH_SECONDS, ConfigurationError, environment_proxy, load_access
from closeknit.testing.control_plane.credentials import Credentials


class Hand(SystemClock):
    """A clock that is moved by hand."""

    at = 0.0

    def monotonic(self) -> float:
        return self.at


def kubeconfig(
    folder: Path, user: dict[str, Any], *, cluster: dict[str, Any] | None = None, name: str = "config"
) -> Path:
    path = folder / name
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "http://kube.test:80"} | (cluster or {})}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "main", "context": {"cluster": "c", "user": "u"}},
            {"name": "other", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
        ],
        "current-context": "main",
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


async def test_the_file_that_is_named_wins_over_the_environment(tmp_path: Path) -> None:
    named = kubeconfig(tmp_path, {"token": "named"})
    other = kubeconfig(tmp_path, {"token": "environment"}, name="other")

    access = load_access(kubeconfig=str(named), environ={"KUBECONFIG": str(other)})

    assert (await access.connection()).authorization == "Bearer named"
    access = load_access(environ={"KUBECONFIG": str(other)})
    assert (await access.connection()).authorization == "Bearer environment"


async def test_the_file_in_the_home_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "home" / ".kube").mkdir()
    kubeconfig(tmp_path / "home" / ".kube", {"token": "home"})

    connection = await load_access(environ={}).connection()

    assert (connection.address, connection.authorization) == ("http://kube.test:80", "Bearer home")


def test_a_context_says_which_namespace_people_mean(tmp_path: Path) -> None:
    path = str(kubeconfig(tmp_path, {}))

    usual, other = load_access(kubeconfig=path), load_access(kubeconfig=path, context="other")
    assert (usual.context, usual.namespace) == ("main", "default")
    assert (other.context, other.namespace) == ("other", "team")


@pytest.mark.parametrize(
    ("content", "context", "parts"),
    [
        pytest.param(None, "", ["{path}"], id="a file that is not there"),
        pytest.param("{", "", ["{path}: while parsing"], id="a file that is no YAML"),
        pytest.param("", "", ["{path}: ", "Error: "], id="an empty file"),
        pytest.param("[]", "", ["{path}: "], id="a file that holds something else"),
        pytest.param("contexts: 3", "", ["{path}: "], id="contexts that are no list"),
        # In the words of the library that reads it, as those about YAML are.
        pytest.param(
            "contexts: []",
            "",
            ["{path}: Invalid kube-config file. Expected key current-context"],
            id="no current context",
        ),
        pytest.param(
            "valid",
            "mian",
            ["{path}: ", "'mian'", "main, other", "'main'"],
            id="a context that is not there",
        ),
    ],
)
def test_a_file_that_does_not_serve_is_named_with_the_reason(
    tmp_path: Path, content: str | None, context: str, parts: list[str]
) -> None:
    path = kubeconfig(tmp_path, {})
    if content is None:
        path.unlink()
    elif content != "valid":
        path.write_text(content, encoding="utf-8")

    with pytest.raises(ConfigurationError) as raised:
        load_access(kubeconfig=str(path), context=context)

    message = str(raised.value)
    assert [part for part in parts if part.format(path=path) not in message] == []


@pytest.mark.parametrize(
    ("context", "names"),
    [
        pytest.param("", ["$KUBECONFIG", "/.kube/config", "--kubeconfig"], id="nothing anywhere"),
        pytest.param("x", ["'x'", "$KUBECONFIG", "/.kube/config"], id="only a context"),
    ],
)
def test_where_no_cluster_is_configured_what_was_looked_for_is_said(context: str, names: list[str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_access(context=context, environ={})

    assert [name for name in names if name not in str(raised.value)] == []


async def test_a_token_file_is_read_again_when_the_token_is_old(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first", encoding="utf-8")
    clock = Hand()
    access = load_access(kubeconfig=str(kubeconfig(tmp_path, {"tokenFile": str(token)})), clock=clock)

    seen = [(await access.connection()).authorization]
    token.write_text("second", encoding="utf-8")
    seen.append((await access.connection()).authorization)
    clock.at = REFRESH_SECONDS
    seen.append((await access.connection()).authorization)

    assert seen == ["Bearer first", "Bearer first", "Bearer second"]


async def test_new_credentials_are_read_at_once_when_the_server_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first", encoding="utf-8")
    access = load_access(kubeconfig=str(kubeconfig(tmp_path, {"tokenFile": str(token)})), clock=Hand())
    await access.connection()
    token.write_text("second", encoding="utf-8")

    assert (await access.renew()).authorization == "Bearer second"


def _plugin(folder: Path, status: str) -> dict[str, Any]:
    """A credential plugin that counts how often it was run, in its token."""
    plugin = folder / "plugin"
    runs = folder / "runs"
    plugin.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib\n"
        f"runs = pathlib.Path({str(runs)!r})\n"
        "count = len(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text('x' * count)\n"
        f"status = {status}\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential', "
        "'status': status}))\n",
        encoding="utf-8",
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}


async def test_a_credential_plugin_is_run_again_when_its_token_expires(tmp_path: Path) -> None:
    far = "{'token': f't{count}', 'expirationTimestamp': '2199-01-01T00:00:00Z'}"
    clock = Hand()
    access = load_access(kubeconfig=str(kubeconfig(tmp_path, _plugin(tmp_path, far))), clock=clock)

    seen = [(await access.connection()).authorization]
    clock.at = REFRESH_SECONDS
    seen.append((await access.connection()).authorization)
    seen.append((await access.renew()).authorization)

    assert seen == ["Bearer t1", "Bearer t1", "Bearer t2"]


async def test_a_credential_plugin_that_fails_is_an_error_with_its_file(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, _plugin(tmp_path, "1/0"))

    with pytest.raises(ConfigurationError, match=f"{path}: exec: process returned 1"):
        await load_access(kubeconfig=str(path)).connection()


async def test_certificates_make_a_context_that_is_kept_until_they_change(tmp_path: Path) -> None:
    made = Credentials(tmp_path / "credentials")
    pair = made.pair("client", common_name="me")
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    cluster = {"server": "https://kube.test", "certificate-authority": str(made.authority)}
    clock = Hand()
    access = load_access(kubeconfig=str(kubeconfig(tmp_path, user, cluster=cluster)), clock=clock)

    first = (await access.connection()).tls
    clock.at = REFRESH_SECONDS
    second = (await access.connection()).tls
    made.pair("client", common_name="me")
    os.utime(pair.certificate, ns=(1, 1))
    clock.at = 2 * REFRESH_SECONDS
    third = (await access.connection()).tls

    assert first is not None
    assert first is second
    assert third is not second


async def test_certificates_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    damaged = tmp_path / "ca.crt"
    damaged.write_text("no certificate", encoding="utf-8")
    cluster = {"server": "https://kube.test", "certificate-authority": str(damaged)}

    with pytest.raises(ConfigurationError, match=r"https://kube\.test "):
        await load_access(kubeconfig=str(kubeconfig(tmp_path, {}, cluster=cluster))).connection()


async def test_the_proxy_and_server_name_of_a_cluster_are_used(tmp_path: Path) -> None:
    cluster = {"server": "https://kube.test", "proxy-url": "http://proxy.test:3128", "tls-server-name": "k"}

    connection = await load_access(kubeconfig=str(kubeconfig(tmp_path, {}, cluster=cluster))).connection()

    assert (connection.proxy, connection.server_name) == ("http://proxy.test:3128", "k")


@pytest.mark.parametrize(
    ("address", "proxy"),
    [
        pytest.param("https://kube.test:6443", "http://proxy.test", id="a server outside"),
        pytest.param("https://inside.test:6443", None, id="a server that no_proxy names"),
        pytest.param("https://127.0.0.1:6443", None, id="this machine"),
        pytest.param("http://kube.test", None, id="a scheme without a proxy"),
    ],
)
def test_the_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, address: str, proxy: str | None
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test")
    monkeypatch.setenv("no_proxy", "inside.test")

    assert environment_proxy(address) == proxy


async def test_a_pod_uses_its_service_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = Credentials(tmp_path / "credentials")
    (tmp_path / "token").write_text("pod", encoding="utf-8")
    (tmp_path / "namespace").write_text("team\n", encoding="utf-8")
    monkeypatch.setattr("closeknit.kube.rest.access.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr("closeknit.kube.rest.access.SERVICE_CERT_FILENAME", str(made.authority))
    service = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    for name, value in service.items():
        monkeypatch.setenv(name, value)

    access = load_access(environ=service)
    connection = await access.connection()

    assert (access.namespace, connection.address) == ("team", "https://10.0.0.1:443")
    assert connection.authorization == "Bearer pod"
