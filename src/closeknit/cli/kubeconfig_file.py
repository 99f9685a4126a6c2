"""The file in which ``closeknit up`` tells others how to reach its cluster: one process has it at a time."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
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
    with _free(kubeconfig):
        pass


@contextmanager
def written(server: Server, kubeconfig: Path) -> Iterator[None]:
    """Keep the file for as long as the server is up; raises ``InvalidError``.

    It stays locked, and the system lets go of it however the process ends, so that what is left of one that
    was killed is in nobody's way.
    """
    own = kubeconfig.with_name(f".{kubeconfig.name}.{secrets.token_hex(4)}")
    try:
        server.write_kubeconfig(own)
        file = own.open("rb")
    except OSError as error:
        raise InvalidError([_refused(sentences.KUBECONFIG_UNWRITABLE, kubeconfig, error)]) from error
    with file:
        _locked(file)
        try:
            _put(own, kubeconfig)
        except OSError as error:
            raise InvalidError([_refused(sentences.KUBECONFIG_UNWRITABLE, kubeconfig, error)]) from error
        finally:
            own.unlink(missing_ok=True)
        try:
            yield
        finally:
            server.remove_kubeconfig(kubeconfig)


def _put(own: Path, kubeconfig: Path) -> None:
    """Give our file its name, locked as it is. Of all who try that at the same time, one succeeds."""
    while True:
        with _free(kubeconfig) as left:
            if left is None:
                try:
                    os.link(own, kubeconfig)
                except FileExistsError:
                    if not kubeconfig.is_symlink():
                        continue
                except OSError:
                    # A file system without links; a real fault shows at once.
                    pass
                else:
                    return
            elif not _is_at(left, kubeconfig):
                continue
            own.replace(kubeconfig)
            return


@contextmanager
def _free(kubeconfig: Path) -> Iterator[BinaryIO | None]:
    """What is left of an earlier run, locked; None where there is no file. Raises ``InvalidError``."""
    try:
        file = kubeconfig.open("rb")
    except FileNotFoundError:
        file = None
    except OSError as error:
        raise InvalidError([_refused(sentences.KUBECONFIG_UNREADABLE, kubeconfig, error)]) from error
    if file is None:
        yield None
        return
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
        yield file


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether an open file still has this name; somebody may have put another in its place."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


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
