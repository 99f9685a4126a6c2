"""The image as its Dockerfile builds it, followed step by step without a container runtime.

Files are copied and commands run as the Dockerfile says, below a folder of their own; what is started then has the
user of the image and, where the system lets us, a file system that is read-only but for /tmp.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.hub.sentences import cli
from closeknit.testing.rendered import rendered
from tests.kit import problems
from tests.planes import skipped_without_go

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "chart"
_CONTAINED = """
mount --make-rprivate /
mount -o remount,bind,ro /
mount -t tmpfs -o size=16m tmpfs /tmp
exec setpriv --reuid {user} --regid {group} --clear-groups "$@"
"""
"""As the pods of the chart are: /tmp is 16 MiB of memory, and nothing else can be written."""


@dataclass(frozen=True)
class Image:
    """What was built, and how it is started."""

    folder: Path
    """Stands for the root of the image."""
    environment: dict[str, str]
    user: str
    entrypoint: tuple[str, ...]
    ports: frozenset[int]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Start it as a container would be."""
        command = [*self.entrypoint, *arguments]
        program = shutil.which(command[0], path=self.environment["PATH"])
        assert program is not None, f"{command[0]} is not on the PATH of the image."
        assert Path(program).is_relative_to(self.folder)
        user, group = self.user.split(":")
        around = ["unshare", "--mount", "sh", "-ec", _CONTAINED.format(user=user, group=group), "sh"]
        return subprocess.run(
            [*(around if can_be_contained(self.user) else ()), program, *command[1:]],
            env=self.environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )


@cache
def can_be_contained(user: str) -> bool:
    """Whether this system lets us take rights and mounts from a process."""
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    name, group = user.split(":")
    script = _CONTAINED.format(user=name, group=group)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", script, "sh", "true"], capture_output=True, check=False
    )
    return done.returncode == 0


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the Dockerfile, each with what follows it."""
    lines = [
        line
        for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        word, _, rest = line.partition(" ")
        yield word, rest.strip()


def python_of_the_image() -> str:
    """A Python that the user of the image may start; its version may be another."""
    for each in ("/usr/local/bin/python3", "/usr/bin/python3"):
        usable = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
        if Path(each).exists() and subprocess.run([each, "-c", usable], check=False).returncode == 0:
            return each
    return sys.executable


def is_sent(path: str) -> bool:
    """Whether a file is in the context of a build, as .dockerignore says: the last line that fits decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split():
        pattern = line.removeprefix("!")
        if fnmatch(path, pattern) or path.startswith(f"{pattern}/"):
            sent = line.startswith("!")
    return sent


def built(folder: Path) -> Image:
    """Follow the Dockerfile."""
    at, environment, ports = folder, dict[str, str](), set[int]()
    user, entrypoint = "", tuple[str, ...]()
    for word, rest in instructions():
        match word:
            case "FROM":
                # A stage begins; what it copies from the one before it stays where it was put.
                user, environment = "", {"PATH": os.environ["PATH"]}
            case "WORKDIR":
                at = folder / rest.lstrip("/")
                at.mkdir(parents=True)
            case "COPY" if rest.startswith("--from="):
                _, source, target = rest.split()
                assert source == target
                assert (folder / source.lstrip("/")).is_dir()
            case "COPY":
                *sources, target = rest.split()
                for source in sources:
                    assert is_sent(source), f".dockerignore keeps {source} back."
                    _copy(ROOT / source, at / target)
            case "RUN":
                _run(rest, at, folder)
            case "ENV":
                for pair in shlex.split(rest):
                    key, _, value = pair.partition("=")
                    value = value.replace("$PATH", environment["PATH"]).replace("/opt/", f"{folder}/opt/")
                    environment[key] = value
            case "USER":
                user = rest
            case "EXPOSE":
                ports |= {int(port) for port in rest.split()}
            case "ENTRYPOINT":
                entrypoint = tuple(yaml.safe_load(rest))
            case _:
                raise AssertionError(f"{word} of the Dockerfile is not followed here.")
    return Image(folder, environment, user, entrypoint, frozenset(ports))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _run(script: str, at: Path, folder: Path) -> None:
    here = script.replace("/opt/", f"{folder}/opt/")
    here = re.sub(r"^python ", f"{python_of_the_image()} ", here)
    done = subprocess.run(["sh", "-ec", here], cwd=at, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# One test, because building takes long.
def test_the_image_holds_all_that_it_needs_and_starts_as_the_chart_starts_it() -> None:
    # Not below /tmp, which has other contents in a container.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        image = built(folder)
        every_source_file_is_there(folder)
        for command, said in COMMANDS:
            done = image.run(*command)
            assert done.returncode == 0, done.stderr
            assert said in done.stdout
        found = {
            each["metadata"]["name"]: each["spec"]["template"]["spec"]
            for each in yaml.safe_load_all(_with_map())
            if each and each["kind"] == "Deployment"
        }
        assert found.keys() == LACKING.keys()
        for component, pod in found.items():
            starts(image, pod, LACKING[component])


@skipped_without_go()
def _with_map() -> str:
    return rendered(CHART, "map.enabled=true", "map.certificateSecret=c", "map.tokenSecret=t")


COMMANDS = (
    (("--help",), "Usage: closeknit"),
    (("run", "--help"), "--webhook-service"),
    (("crds",), "kind: CustomResourceDefinition"),
    (("demo",), "PodGroup inference/chat"),
)
"""Each with something that it says; the last two read files of the package."""


_NO_CLUSTER = ("--kubeconfig: ", "$KUBECONFIG")
LACKING = {
    "closeknit-scheduler": _NO_CLUSTER,
    "closeknit-controllers": _NO_CLUSTER,
    "closeknit-admission": _NO_CLUSTER,
    "closeknit-map": (
        problems.line(cli.UNREADABLE_FILE, "--token-file /token/token", reason="No such file or directory"),
    ),
}
"""By Deployment, what it finds missing outside a cluster when it has read its arguments: how the message begins, and
what else is in it.
"""


def every_source_file_is_there(folder: Path) -> None:
    """Data files, static files and definitions among them."""
    (package,) = folder.glob("opt/closeknit/lib/python3.*/site-packages/closeknit")

    def names(folder: Path) -> set[str]:
        found = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        return {str(file.relative_to(folder)) for file in found}

    assert names(package) == names(ROOT / "src" / "closeknit")


def starts(image: Image, pod: dict[str, Any], lacking: tuple[str, ...]) -> None:
    """A pod of the chart takes its arguments, and gets as far as what is not there."""
    (container,) = pod["containers"]
    assert "command" not in container
    assert {each["containerPort"] for each in container["ports"]} <= image.ports
    given = pod["securityContext"]
    assert f"{given['runAsUser']}:{given['runAsGroup']}" == image.user

    done = image.run(*container["args"])

    assert (done.returncode, done.stderr[: len(lacking[0])]) == (2, lacking[0])
    assert [part for part in lacking if part not in done.stderr] == []
