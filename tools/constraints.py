"""Writes the hashes of all files of the versions in constraints.txt: `make constraints`.

To add or change a dependency, write a line `name==version` and run it. The hashes are those that the package
index states, read with pip's own code, so that whichever index pip is configured with is asked. No download
address is written: the name, the version and the hash say which file is meant, wherever it comes from.

A file is listed unless it is for a Python that is not supported. So one list serves every platform, and pip
refuses what is not listed (`--require-hashes`). pip takes hashes from requirements only and not from
constraints, so what goes into the image, and what builds it, are lists of their own, made from the first.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pip._internal.commands import create_command
from pip._internal.index.collector import LinkCollector, parse_links
from pip._internal.models.link import Link
from pip._vendor.packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

FILE = Path("constraints.txt")
IMAGE = Path("constraints-image.txt")
BUILD = Path("constraints-build.txt")
HEADER = """\
# Every dependency of closeknit[dev] and closeknit[claims], pinned: names, versions, and the hashes of all
# files that a supported Python can install. `make` installs exactly these. To change one, edit its line and
# run `make constraints`, which writes the hashes.
"""
IMAGE_HEADER = """\
# The lines of constraints.txt that the image needs: closeknit[claims] and what it depends on.
# Written by `make constraints`.
"""
BUILD_HEADER = """\
# The lines of constraints.txt that building closeknit needs. Written by `make constraints`.
"""
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s\\]+)", re.MULTILINE)
_OLDEST = (3, 11)
_OF_ONE_PYTHON = re.compile(r"^(?:cp|pp|graalpy)(?P<digits>3\d+)")


def pins_of(text: str) -> dict[str, str]:
    """The version of each name in a file of constraints."""
    return {match["name"]: match["version"] for match in _PIN.finditer(text)}


def is_supported(filename: str) -> bool:
    """Whether a supported CPython can install a file."""
    if not filename.endswith(".whl"):
        return True
    for tag in parse_wheel_filename(filename)[3]:
        match = _OF_ONE_PYTHON.match(tag.interpreter)
        if match is None:
            return True
        digits = match["digits"]
        # A wheel of the stable ABI serves later versions as well.
        version = (int(digits[0]), int(digits[1:]))
        if tag.interpreter.startswith("cp") and (version >= _OLDEST or tag.abi == "abi3"):
            return True
    return False


def version_of(filename: str) -> str:
    """The version of a wheel or a source distribution; empty for other files."""
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except ValueError:
        return ""


def hashes_of(links: Iterable[Link], version: str) -> list[str]:
    """The hashes of the files of a version that a supported Python can install, sorted."""
    hashes: set[str] = set()
    for link in links:
        if version_of(link.filename) == version and is_supported(link.filename):
            if link.hash_name != "sha256":
                raise SystemExit(f"The index states no sha256 of {link.filename}.")
            hashes.add(str(link.hash))
    return sorted(hashes)


def listed(collector: LinkCollector, name: str) -> Iterator[Link]:
    """All files of a name in the package index."""
    sources = collector.collect_sources(canonicalize_name(name), candidates_from_page=lambda link: [link])  # type: ignore[list-item]
    for source in sources.index_urls:
        if source is None:
            continue
        for page in source.page_candidates():
            response = collector.fetch_response(page)  # type: ignore[arg-type]
            if response is not None:
                yield from parse_links(response)


def needed(requirements: Iterable[str], pins: Mapping[str, str]) -> frozenset[str]:
    """The canonical names of all that requirements depend on, in the versions that are pinned."""
    with tempfile.TemporaryDirectory() as folder:
        versions = Path(folder, "versions.txt")
        versions.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", "-", "--constraint", str(versions), *requirements]
        # These are the project's own requirements, and the interpreter that runs this.
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    installed = json.loads(report)["install"]
    return frozenset(canonicalize_name(each["metadata"]["name"]) for each in installed)


def written(header: str, pins: Mapping[str, tuple[str, list[str]]], names: Collection[str] = ()) -> str:
    """A file of pins, by name, with their hashes; of all, or of some names."""
    lines = [header.rstrip()]
    for name in sorted(pins, key=str.lower):
        if not names or canonicalize_name(name) in names:
            version, hashes = pins[name]
            lines.append(
                " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{one}" for one in hashes)])
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the hashes of all versions, and the lists for the image."""
    command = create_command("download")
    options, _ = command.parse_args(["--no-cache-dir", "nothing"])
    versions = pins_of(FILE.read_text())
    pins: dict[str, tuple[str, list[str]]] = {}
    with command.main_context():
        session = command._build_session(options)  # type: ignore[attr-defined]  # noqa: SLF001
        collector = LinkCollector.create(session, options=options)
        for name, version in versions.items():
            hashes = hashes_of(listed(collector, name), version)
            if not hashes:
                raise SystemExit(f"The index has no file of {name} {version}.")
            pins[name] = (version, hashes)
            sys.stdout.write(f"{name} {version}: {len(hashes)} files\n")
    document = tomllib.loads(Path("pyproject.toml").read_text())
    project = document["project"]
    image = needed([*project["dependencies"], *project["optional-dependencies"]["claims"]], versions)
    build = needed(document["build-system"]["requires"], versions)
    FILE.write_text(written(HEADER, pins))
    IMAGE.write_text(written(IMAGE_HEADER, pins, image))
    BUILD.write_text(written(BUILD_HEADER, pins, build))


if __name__ == "__main__":
    main()
