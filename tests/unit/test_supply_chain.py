"""What is installed is named by version and hash, and the image states what is in it."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from pip._internal.models.link import Link

from closeknit.installation import sbom
from closeknit.installation.privileges import Component
from tools.constraints import hashes_of, is_supported, pins_of, written

ROOT = Path(__file__).parents[2]
LISTS = ("constraints.txt", "constraints-image.txt", "constraints-build.txt")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}$")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def entries(name: str) -> dict[str, tuple[str, ...]]:
    """By pin, the lines of its hashes."""
    joined = re.sub(r" \\\n\s+", " ", read(name))
    lines = [line.split(" ") for line in joined.splitlines() if line and not line.startswith("#")]
    return {pin: tuple(hashes) for pin, *hashes in lines}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", LISTS)
def test_every_version_of_a_list_is_exact_and_has_hashes(name: str) -> None:
    for pin, hashes in entries(name).items():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._!+]+", pin)
        assert hashes, pin
        assert all(HASH.fullmatch(each) for each in hashes), pin


@pytest.mark.parametrize("name", LISTS)
def test_no_list_names_an_address(name: str) -> None:
    assert "://" not in read(name)
    assert "index-url" not in read(name)


@pytest.mark.parametrize("name", LISTS[1:])
def test_what_the_image_needs_is_a_part_of_the_whole_list(name: str) -> None:
    assert entries(name).items() <= entries(LISTS[0]).items()


def test_every_image_that_the_build_starts_from_is_named_by_digest() -> None:
    bases = [line.split()[1] for line in read("Dockerfile").splitlines() if line.startswith("FROM ")]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert all(re.fullmatch(r"[^@]+:[^@]+@sha256:[0-9a-f]{64}", base) for base in bases)


@pytest.mark.parametrize("name", ["Makefile", "Dockerfile"])
def test_nothing_is_installed_from_an_index_without_its_hash(name: str) -> None:
    commands = [line for line in read(name).splitlines() if re.search(r"pip (install|wheel|download) ", line)]
    assert len(commands) >= 2
    for command in commands:
        assert "--require-hashes" in command or "--no-index" in command


def test_the_files_that_the_build_copies_are_sent_to_it() -> None:
    sent = read(".dockerignore")
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", read("Dockerfile"), re.MULTILINE)
    for source in " ".join(copied).split():
        assert f"!{source}\n" in sent


# ------------------------------------------------------------------------------------------ bill of materials


def test_the_bill_of_materials_has_what_the_format_requires() -> None:
    document = sbom.document()
    assert document["bomFormat"] == "CycloneDX"
    assert document["specVersion"] == "1.6"
    assert document["version"] == 1
    assert re.fullmatch(
        r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        document["serialNumber"],
    )
    root = document["metadata"]["component"]
    assert (root["type"], root["name"], root["version"]) == ("application", "closeknit", version("closeknit"))
    references = [each["bom-ref"] for each in (root, *document["components"])]
    assert len(references) == len(set(references))
    for each in document["components"]:
        assert each["type"] == "library"
        assert each["purl"] == f"pkg:pypi/{canonical(each['name'])}@{version(each['name'])}"
        for of in each.get("licenses", ()):
            assert of.keys() == {"expression"} or of["license"]["name"]
    assert {each["ref"] for each in document["dependencies"]} == set(references)
    assert {each for one in document["dependencies"] for each in one["dependsOn"]} <= set(references)
    assert sbom.document() == document


def test_the_bill_of_materials_lists_what_the_image_installs() -> None:
    stated = {f"{canonical(each['name'])}=={each['version']}" for each in sbom.document()["components"]}
    pins = pins_of(read("constraints-image.txt"))
    assert stated == {f"{canonical(name)}=={exact}" for name, exact in pins.items()}


def test_what_only_an_extra_needs_is_listed_with_the_extra_alone() -> None:
    names = {each["name"] for each in sbom.document(extras=())["components"]}
    assert "msgspec" in names
    assert "cel-expr-python" not in names
    assert "pytest" not in names


# --------------------------------------------------------------------------------------------- hashes of files


@pytest.mark.parametrize(
    ("filename", "wanted"),
    [
        ("a-1.0.tar.gz", True),
        ("a-1.0-py3-none-any.whl", True),
        ("a-1.0-py2.py3-none-any.whl", True),
        ("a-1.0-cp311-cp311-manylinux_2_17_x86_64.whl", True),
        ("a-1.0-cp314-cp314t-macosx_11_0_arm64.whl", True),
        ("a-1.0-cp38-abi3-win_amd64.whl", True),
        ("a-1.0-cp310-cp310-manylinux_2_17_x86_64.whl", False),
        ("a-1.0-pp311-pypy311_pp73-manylinux_2_17_x86_64.whl", False),
    ],
)
def test_a_file_is_listed_if_a_supported_python_installs_it(filename: str, wanted: bool) -> None:
    assert is_supported(filename) == wanted


def test_a_list_is_written_in_the_order_of_names_and_read_back() -> None:
    pins = {"b": ("2.0", ["0b"]), "A": ("1.0", ["0a", "1a"]), "c": ("3.0", ["0c"])}
    text = written("# Header\n", pins, {"a", "b"})
    assert text == (
        "# Header\nA==1.0 \\\n    --hash=sha256:0a \\\n    --hash=sha256:1a\nb==2.0 \\\n    --hash=sha256:0b\n"
    )
    assert pins_of(text) == {"A": "1.0", "b": "2.0"}


def test_only_files_of_the_version_are_listed() -> None:
    links = [
        Link(f"https://example.org/{name}#sha256={digest * 64}")
        for name, digest in (
            ("a-1.0.tar.gz", "1"),
            ("a-1.0-py3-none-any.whl", "2"),
            ("a-1.0.1-py3-none-any.whl", "3"),
            ("a-1.0-cp39-cp39-win_amd64.whl", "4"),
            ("a-1.0.zip.sig", "5"),
        )
    ]
    assert hashes_of(links, "1.0") == ["1" * 64, "2" * 64]


# ------------------------------------------------------------------------------------------------------- pages


def test_the_changelog_begins_with_the_present_version() -> None:
    assert re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)[1] == version("closeknit")  # type: ignore[index]


@pytest.mark.parametrize("component", list(Component), ids=lambda each: each.value)
def test_the_threat_model_has_a_row_for_each_component(component: Component) -> None:
    assert re.search(rf"^\| {component.value} \|", read("SECURITY.md"), re.MULTILINE)
