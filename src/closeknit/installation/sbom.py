"""Writes what is installed with Closeknit as CycloneDX: ``python -m closeknit.installation.sbom FILE``.

It reads the metadata of the installed distributions, so it states what is there and not what was asked for.
Equal installations give equal documents: there is no date, and the serial number follows from the content.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

PROJECT: Final = "closeknit"
EXTRAS: Final = ("claims",)
_REQUIREMENT: Final = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def document(project: str = PROJECT, extras: Iterable[str] = EXTRAS) -> dict[str, Any]:
    """The installed distributions that a project depends on, and which needs which."""
    needs: dict[str, list[str]] = {}
    found: dict[str, Distribution] = {}
    waiting = [(project, frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, wanted = waiting.pop()
        key = _canonical(name)
        if (key, wanted) in seen:
            continue
        seen.add((key, wanted))
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            # A requirement of another platform or of an older Python.
            continue
        listed = needs.setdefault(key, [])
        for required, its_extras in _requirements(found[key], wanted):
            listed.append(_canonical(required))
            waiting.append((required, its_extras))
    reference = {key: f"pkg:pypi/{key}@{each.version}" for key, each in found.items()}
    dependencies = [
        {
            "ref": reference[key],
            "dependsOn": sorted({reference[need] for need in needs[key] if need in reference}),
        }
        for key in sorted(found)
    ]
    root = _component(found[_canonical(project)], reference[_canonical(project)], "application")
    libraries = [
        _component(found[key], reference[key], "library")
        for key in sorted(found)
        if key != _canonical(project)
    ]
    content = json.dumps([root, libraries, dependencies], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"component": root},
        "components": libraries,
        "dependencies": dependencies,
    }


def _requirements(of: Distribution, extras: frozenset[str]) -> Iterable[tuple[str, frozenset[str]]]:
    """What a distribution requires with some extras. Other conditions are left to whether it is installed."""
    for line in of.requires or ():
        text, _, condition = line.partition(";")
        conditions = _EXTRA.findall(condition)
        if conditions and not extras.intersection(conditions):
            continue
        match = _REQUIREMENT.match(text.strip())
        if match is not None:
            its_extras = (each.strip() for each in (match["extras"] or "").split(","))
            yield match["name"], frozenset(filter(None, its_extras))


def _component(of: Distribution, reference: str, kind: str) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": kind,
        "bom-ref": reference,
        "name": of.metadata["Name"],
        "version": of.version,
        "purl": reference,
    }
    metadata = of.metadata
    if "License-Expression" in metadata:
        component["licenses"] = [{"expression": metadata["License-Expression"]}]
    elif "License" in metadata and (text := metadata["License"].strip()):
        # Some put the whole text there; its first line names it.
        component["licenses"] = [{"license": {"name": text.splitlines()[0][:100]}}]
    return component


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=2) + "\n", encoding="utf-8")
