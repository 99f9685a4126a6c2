"""The resource definitions that other projects publish.

They are no part of this repository. They are taken from a folder beside it, else by module
version from Go's module proxy, and where neither can be had, tests that need them are skipped
and say why.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT.parent / "shared" / "crds"
OPEN = "x-kubernetes-preserve-unknown-fields"


@dataclass(frozen=True)
class Module:
    """A Go module that carries definitions."""

    name: str
    version: str
    folder: str
    checksum: str = ""
    """What `go mod download` must say of it; empty where no release is pinned."""


_GROVE = "github.com/ai-dynamo/grove"
_IN_GROVE = "core/v1alpha1/crds"
_BASES = "config/components/crd/bases"
MODULES = {
    "kai": (Module("github.com/kai-scheduler/KAI-scheduler", "v0.17.0", "deployments/kai-scheduler/crds"),),
    "grove": (
        Module(f"{_GROVE}/operator/api", "fcc3b3bb", _IN_GROVE),
        Module(f"{_GROVE}/scheduler/api", "fcc3b3bb", _IN_GROVE),
    ),
    "grove-alpha8": (
        Module(
            f"{_GROVE}/operator/api",
            "v0.1.0-alpha.8",
            _IN_GROVE,
            "h1:hsAJ8YOsmxDBqB4bpFlnss5jVBJ8rSZ0W7mPLKIPo5A=",
        ),
        Module(f"{_GROVE}/scheduler/api", "v0.1.0-alpha.8", _IN_GROVE),
    ),
    "kueue": (
        Module("sigs.k8s.io/kueue", "v0.19.0", _BASES, "h1:5yCu85qsJhvUVVxE0Csw546DDBcRwUXpBEOmEFlws34="),
    ),
    "jobset": (
        Module("sigs.k8s.io/jobset", "v0.12.0", _BASES, "h1:YYPuV0px8Ongq/RXmJg6V0w2UC67aiR+rCMD06vhQQQ="),
    ),
    "dynamo": (Module("github.com/ai-dynamo/dynamo/deploy/operator", "bb3100e6", "config/crd/bases"),),
}
"""Where each project's definitions are found; versions are pinned, by commit where there is no release."""

PROJECTS = {
    "kai.scheduler": "kai",
    "scheduling.run.ai": "kai",
    "grove.io": "grove",
    "scheduler.grove.io": "grove",
    "kueue.x-k8s.io": "kueue",
    "jobset.x-k8s.io": "jobset",
    "nvidia.com": "dynamo",
}
"""By API group, the project that publishes it."""


def published(
    group: str, kind: str, version: str, project: str | None = None, *, released: bool = True
) -> dict[str, Any] | None:
    """The published schema; None where the project has no such kind or version.

    The test is skipped, loudly, where the definitions that might hold it cannot be had. Unless any ``released``
    version will do, only those beside the checkout count, which may be newer.
    """
    if not released and not BESIDE.is_dir():
        _skip([])
    schemas, missing = _schemas(project or PROJECTS[group])
    schema = schemas.get((group, kind, version))
    if schema is None and missing:
        _skip(missing)
    return schema


@cache
def strict_validator(group: str, kind: str, version: str, project: str | None = None) -> Draft202012Validator:
    """A judge that refuses unknown fields, as the API server does when asked to be strict."""
    schema = published(group, kind, version, project)
    assert schema is not None, f"{project or PROJECTS[group]} publishes no {kind} of {group}/{version}."
    closed = strict(schema)
    closed["properties"]["metadata"] = {"type": "object"}
    return Draft202012Validator(closed)


def strict(schema: Any) -> Any:
    """The same schema with unknown fields refused wherever it lists fields and does not stay open."""
    if isinstance(schema, list):
        return [strict(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    lists_fields = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if lists_fields and "additionalProperties" not in schema and not schema.get(OPEN):
        closed["additionalProperties"] = False
    return closed


def _skip(missing: list[str]) -> NoReturn:
    """Say loudly why a test is not run: nobody here publishes these definitions, and they could not be had."""
    pytest.skip(f"Published definitions are not at hand: {'; '.join(['no ../shared/crds', *missing])}")


def published_texts(project: str) -> list[str]:
    """All that a project publishes, as it stands; the test is skipped where any of it cannot be had."""
    files, missing = _files(project)
    if missing:
        _skip(missing)
    return [path.read_text(encoding="utf-8") for path in files]


def published_definitions(project: str) -> list[dict[str, Any]]:
    """The custom resource definitions that a project publishes; skipped as above."""
    return _definitions(published_texts(project))


def _definitions(texts: Iterable[str]) -> list[dict[str, Any]]:
    found = (yaml.load(text, Loader=yaml.CSafeLoader) for text in texts)
    return [
        each for each in found if isinstance(each, dict) and each.get("kind") == "CustomResourceDefinition"
    ]


@cache
def _schemas(project: str) -> tuple[dict[tuple[str, str, str], dict[str, Any]], list[str]]:
    """By group, kind and version what the project publishes, and why parts of it cannot be had."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    files, missing = _files(project)
    for definition in _definitions(path.read_text(encoding="utf-8") for path in files):
        spec = definition["spec"]
        for version in spec["versions"]:
            key = (spec["group"], spec["names"]["kind"], version["name"])
            found[key] = version["schema"]["openAPIV3Schema"]
    return found, missing


def _files(project: str) -> tuple[list[Path], list[str]]:
    folder = BESIDE / project
    if folder.is_dir():
        return sorted(folder.glob("*.yaml")), []
    files: list[Path] = []
    missing: list[str] = []
    for module in MODULES[project]:
        place = _downloaded(module)
        if isinstance(place, Path):
            files.extend(sorted(place.glob("*.yaml")))
        else:
            missing.append(place)
    return files, missing


def _downloaded(module: Module) -> Path | str:
    """The folder of definitions in a module, or why it cannot be had.

    A module whose content is not the one that is pinned here is an error, not a reason to skip. The
    pinned checksums stand in for the public database of them, which not every proxy carries.
    """
    wanted = f"{module.name}@{module.version}"
    go = shutil.which("go")
    if go is None:
        return f"no go to download {wanted}."
    try:
        told = subprocess.run(
            [go, "mod", "download", "-json", wanted],
            cwd=Path(go).anchor,
            env={**os.environ, "GOSUMDB": "off", "GOFLAGS": "-mod=mod"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{wanted} took more than two minutes to download."
    answer = json.loads(told.stdout) if told.stdout.startswith("{") else {}
    if "Dir" not in answer:
        reason = " ".join(str(answer.get("Error") or told.stderr).split())[:300]
        return f"{wanted} failed: {reason}"
    assert module.checksum in ("", answer["Sum"]), f"{wanted} is not the module whose checksum is pinned."
    return Path(answer["Dir"]) / module.folder
