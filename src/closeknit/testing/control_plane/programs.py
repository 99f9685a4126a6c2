"""Builds the programs of a control plane from Go's module proxy, once, into a cache outside the tree.

Each release gets a Go module of its own with a ``tool`` line for each program. Go checks what it
downloads against its checksum database. A program is moved into place only when it is complete, and
only one process builds at a time, so an interrupted build leaves nothing half done.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from closeknit.hub.copying import replace

CACHE_VARIABLE = "CLOSEKNIT_CACHE"
"""The environment variable that names another cache."""
_KEPT = "kept"

_STAGING = (
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "apiserver",
    "cli-runtime",
    "client-go",
    "cloud-provider",
    "cluster-bootstrap",
    "code-generator",
    "component-base",
    "component-helpers",
    "controller-manager",
    "cri-api",
    "cri-client",
    "cri-streaming",
    "csi-translation-lib",
    "dynamic-resource-allocation",
    "endpointslice",
    "externaljwt",
    "kms",
    "kube-aggregator",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "metrics",
    "mount-utils",
    "pod-security-admission",
    "sample-apiserver",
    "streaming",
)
"""Modules that Kubernetes keeps in its own tree and publishes under versions of their own."""


class ProgramError(Exception):
    """A program could not be built or started; the message says which, why, and what to do."""


class GoMissingError(ProgramError):
    """There is no Go on this machine to build the programs with."""


@dataclass(frozen=True, slots=True)
class Release:
    """Programs that are built together from one module at one version."""

    name: str
    module: str
    version: str
    programs: tuple[tuple[str, str], ...]
    """Each program's name and the package it is built from."""
    replacements: tuple[tuple[str, str], ...] = ()
    """Modules that the release takes from its own source tree, and the version that was published."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables that are set at link time."""
    unlisted: tuple[str, ...] = ()
    """Modules that Go's checksum database does not list."""
    replaced: tuple[tuple[bytes, bytes], ...] = ()
    """Texts that a program holds once, and others of the same length that are put in their place."""
    kept: tuple[str, ...] = ()
    """Folders of the module that are kept beside the programs, because they tell how those are installed."""

    def definition(self) -> str:
        """The go.mod file."""
        lines = [f"module closeknit.invalid/{self.name}", "go 1.26.0"]
        lines += [f"tool {package}" for _, package in self.programs]
        lines.append(f"require {self.module} {self.version}")
        lines += [f"replace {module} => {module} {version}" for module, version in self.replacements]
        return "\n".join(lines) + "\n"


ETCD = Release(
    name="etcd",
    module="go.etcd.io/etcd/server/v3",
    version="v3.6.8",
    programs=(("etcd", "go.etcd.io/etcd/server/v3"),),
)

HELM = Release(
    name="helm",
    module="helm.sh/helm/v3",
    version="v3.19.0",
    programs=(("helm", "helm.sh/helm/v3/cmd/helm"),),
    variables=(("helm.sh/helm/v3/internal/version.version", "v3.19.0"),),
)
"""Built only for those who ask for it."""

KUBERNETES = Release(
    name="kubernetes",
    module="k8s.io/kubernetes",
    version="v1.36.4",
    programs=tuple(
        (name, f"k8s.io/kubernetes/cmd/{name}")
        for name in ("kube-apiserver", "kube-controller-manager", "kubectl")
    ),
    replacements=tuple((f"k8s.io/{name}", "v0.36.4") for name in _STAGING),
    # Without these the programs call themselves v0.0.0, and kubectl cannot compare versions.
    variables=(
        ("k8s.io/component-base/version.gitVersion", "v1.36.4"),
        ("k8s.io/component-base/version.gitMajor", "1"),
        ("k8s.io/component-base/version.gitMinor", "36"),
    ),
)

KUBE_SCHEDULER = replace(
    KUBERNETES, name="kube-scheduler", programs=(("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),)
)
"""Kubernetes' own scheduler. Only benchmarks start it, so others need not build it."""

_INSTALLED_WITH = ("config/components/crd/bases", "config/components/webhook")
"""Where Kueue and JobSet keep their definitions and webhook configurations."""

KUEUE = Release(
    name="kueue",
    module="sigs.k8s.io/kueue",
    version="v0.19.0",
    programs=(("kueue", "sigs.k8s.io/kueue/cmd/kueue"),),
    unlisted=("sigs.k8s.io/scheduler-library",),
    # It reads the certificate of its metrics from a path that no setting names, and that is root's alone.
    replaced=((b"/etc/kueue/metrics/certs", b"kueue-metrics-certs/././"),),
    kept=_INSTALLED_WITH,
)
"""Kueue itself, with which its dialect is compared. Only tests and benchmarks of their own start it."""

JOB_SET = Release(
    name="jobset",
    module="sigs.k8s.io/jobset",
    version="v0.10.1",
    programs=(("jobset", "sigs.k8s.io/jobset"),),
    kept=_INSTALLED_WITH,
)
"""The JobSet controller itself."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the built programs are."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kubectl: Path


def cache() -> Path:
    """The folder that keeps built programs: ``$CLOSEKNIT_CACHE``, or ``closeknit`` in the user's cache."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).absolute()
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(users).absolute() / "closeknit"


def programs(tell: Callable[[str], None] = lambda _: None) -> Programs:
    """The programs of a control plane, built first where that was not done before.

    ``tell`` hears a sentence before each step that takes minutes.
    """
    etcd = built(ETCD, tell)
    kubernetes = built(KUBERNETES, tell)
    return Programs(
        etcd=etcd / "etcd",
        kube_apiserver=kubernetes / "kube-apiserver",
        kube_controller_manager=kubernetes / "kube-controller-manager",
        kubectl=kubernetes / "kubectl",
    )


def helm(tell: Callable[[str], None] = lambda _: None) -> Path:
    """Helm, built first where that was not done before."""
    return built(HELM, tell) / "helm"


def built(release: Release, tell: Callable[[str], None]) -> Path:
    """The folder of a release's programs, all of them there and complete."""
    place = cache() / release.name / release.version
    folder = place / "bin"
    names = [name for name, _ in release.programs]
    if _is_complete(release, place):
        return folder
    go = shutil.which("go")
    if go is None:
        raise GoMissingError(
            f"There is no go on the PATH to build {', '.join(names)} ({release.module} {release.version}) "
            f"with. Install Go 1.26 or newer, or name a cache that holds them in {CACHE_VARIABLE}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(place):
        if not _is_complete(release, place):
            _build(release, go, place, tell)
    return folder


def kept_folder(release: Release, name: str) -> Path:
    """A folder of the module that a release was built from, one of those that are kept."""
    return built(release, lambda _: None).parent / _KEPT / name


def _is_complete(release: Release, place: Path) -> bool:
    programs = all((place / "bin" / name).exists() for name, _ in release.programs)
    return programs and all((place / _KEPT / name).exists() for name in release.kept)


def _build(release: Release, go: str, place: Path, tell: Callable[[str], None]) -> None:
    source, partial = place / "module", place / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    source.mkdir(exist_ok=True)
    partial.mkdir()
    (source / "go.mod").write_text(release.definition(), encoding="utf-8")
    tell(f"Downloading {release.module} {release.version} and what it stands on.")
    _go([go, "mod", "tidy"], source, release.unlisted)
    for name, package in release.programs:
        if (place / "bin" / name).exists():
            continue
        tell(f"Building {name} {release.version}. The first program of a release takes minutes.")
        settings = " ".join(f"-X {variable}={value}" for variable, value in release.variables)
        command = [go, "build", "-ldflags", settings, "-o", str(partial / name), package]
        _go(command, source, release.unlisted)
        _replace(partial / name, release.replaced)
        (partial / name).replace(place / "bin" / name)
    if release.kept:
        found = _go([go, "list", "-m", "-f", "{{.Dir}}", release.module], source, release.unlisted)
        for name in release.kept:
            # What Go has downloaded may not be written, and so not be removed either.
            shutil.copytree(Path(found.strip(), name), partial / name, copy_function=shutil.copyfile)
        shutil.rmtree(place / _KEPT, ignore_errors=True)
        partial.replace(place / _KEPT)
    else:
        partial.rmdir()


def _replace(program: Path, texts: tuple[tuple[bytes, bytes], ...]) -> None:
    """Let a built program say something else, of the same length."""
    content = program.read_bytes()
    for text, instead in texts:
        if content.count(text) != 1 or len(text) != len(instead):
            raise ProgramError(f"{program.name} does not hold {text!r} once.")
        content = content.replace(text, instead)
    program.write_bytes(content)


def _go(command: list[str], folder: Path, unlisted: tuple[str, ...] = ()) -> str:
    """Run Go, and return what it wrote; a failure is told with the last of what it said."""
    # A workspace of the user's, or flags that forbid changes of go.mod, have no say here.
    environment = {**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=mod -buildvcs=false"}
    if unlisted:
        environment["GONOSUMDB"] = ",".join(unlisted)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-15:])
        raise ProgramError(f"`{' '.join(command[:2])}` failed in {folder}:\n{last}")
    return done.stdout


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the right to build in a folder; another process that wants it waits."""
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
