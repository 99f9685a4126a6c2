"""Runs a control plane until Ctrl-C, and says how to use it."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from closeknit.testing.control_plane.plane import control_plane
from closeknit.testing.control_plane.programs import JOB_SET, KUEUE, ProgramError, built, programs


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, start, wait, end. Status 1 when the programs cannot be built or started."""
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--build-only", action="store_true", help="build the programs and start nothing")
    parser.add_argument("--with-kueue", action="store_true", help="build Kueue itself as well")
    parser.add_argument("--with-jobset", action="store_true", help="build the JobSet controller as well")
    options = parser.parse_args(arguments)
    asked_to_end = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        asked_to_end.set()

    try:
        for release, asked in ((KUEUE, options.with_kueue), (JOB_SET, options.with_jobset)):
            if asked:
                built(release, _say)
        if options.build_only:
            programs(_say)
            return 0
        with control_plane(tell=_say) as plane:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, end)
            _say(f"Kubernetes listens on {plane.address}. In another terminal:")
            _say(f"  export KUBECONFIG={plane.kubeconfig}")
            _say(f"  alias kubectl={plane.programs.kubectl}")
            _say(f"Logs are in {plane.folder}. Ctrl-C ends it and removes all that it wrote.")
            asked_to_end.wait()
    except ProgramError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
