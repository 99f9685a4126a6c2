"""The file in which ``closeknit up`` tells others how to reach its cluster: one process has it at a time."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Code, InvalidError, Problem
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.kube.embedded.http.server import Server

CONTEXT = "closeknit"
"""What the kubeconfig calls the cluster."""
_OPTION = (Verbatim("--kubeconfig"),)


def require_free(kubeconfig: Path) -> None:
    """Refuse a file that somebody else has written, and that of a cluster which is still served."""
    try:
        file = kubeconfig.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidError([_refused(sentences.KUBECONFIG_UNREADABLE, kubeconfig, error)]) from error
    with file:
        try:
            content = json.load(file)
        except ValueError:
            content = None
        if not isinstance(content, dict) or content.get("current-context") != CONTEXT:
            raise InvalidError([sentences.KUBECONFIG_OF_OTHERS.at(_OPTION, file=str(kubeconfig))])
        if not _locked(file):
            server, process = _holder(content)
            facts = {"file": str(kubeconfig), "server": server, "process": process}
            raise InvalidError([sentences.KUBECONFIG_IN_USE.at(_OPTION, **facts)])


@contextmanager
def written(server: Server, kubeconfig: Path) -> Iterator[None]:
    """Keep the file for as long as the server is up; raises ``InvalidError``.

    It stays locked, and the system lets go of it however the process ends, so that what is left of one that
    was killed is in nobody's way.
    """
    # Somebody else may have started in the meantime.
    require_free(kubeconfig)
    try:
        server.write_kubeconfig(kubeconfig)
    except OSError as error:
        raise InvalidError([_refused(sentences.KUBECONFIG_UNWRITABLE, kubeconfig, error)]) from error
    with kubeconfig.open("rb") as file:
        _locked(file)
        try:
            yield
        finally:
            server.remove_kubeconfig(kubeconfig)


def _refused(wrong: Code, kubeconfig: Path, error: OSError) -> Problem:
    return wrong.at(_OPTION, file=str(kubeconfig), reason=error.strerror or str(error))


def _locked(file: BinaryIO) -> bool:
    """Whether the file is ours now, or on a file system that knows no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _holder(content: Any) -> tuple[str, str]:
    """Where the cluster of a kubeconfig is served, and by which process."""
    server, process = "an address that is not known", "another process"
    with suppress(LookupError, TypeError):
        cluster = content["clusters"][0]["cluster"]
        server = str(cluster["server"])
        process = f"process {int(cluster['extensions'][0]['extension']['pid'])}"
    return server, process
