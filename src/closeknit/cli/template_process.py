"""Fill in Jinja templates in a process of its own, which the system stops where one costs too much.

A program, not a part of the package: it is run by its path, knows nothing of Closeknit and loads nothing
but Jinja and YAML. Templates come on standard input, a JSON list; for each a line of JSON goes to standard
output. The sandbox is OSMO's: unsafe attributes are out of reach. A variable that is not known is an error,
unless it is merely written, when its name stands in its place.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

SECONDS = 2
"""Of processor time, for each template."""
MEMORY = 256 * 2**20
"""Bytes, beside what the process needs by itself."""
LARGEST = 4 * 2**20
"""Characters that come of one template."""
_LONGEST_MESSAGE = 500


def main() -> None:
    """Fill in what stands on standard input."""
    import yaml
    from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
    from jinja2.sandbox import SandboxedEnvironment
    from jinja2.utils import missing

    requests = json.load(sys.stdin)
    unknown: list[str] = []

    class Named(StrictUndefined):
        """A variable without a value is written as its name; anything else that is asked of it fails."""

        def __str__(self) -> str:  # type: ignore[override]
            if self._undefined_obj is not missing or not self._undefined_name:
                return super().__str__()
            unknown.append(self._undefined_name)
            return self._undefined_name

    _limit(resource.RLIMIT_CORE, 0)
    environment = SandboxedEnvironment(undefined=Named)
    _limit(resource.RLIMIT_AS, _used_memory() + MEMORY)
    for request in requests:
        unknown.clear()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + SECONDS + 1)
        answer: dict[str, Any]
        try:
            defaults = yaml.safe_load(request["defaults"]) or {}
            values = {**(defaults.get("default-values") or {}), **request["values"]}
            parts = environment.from_string(request["text"]).generate(values)
            answer = {"text": "".join(_bounded(parts)), "missing": list(dict.fromkeys(unknown))}
        except TemplateSyntaxError as error:
            answer = {"error": _sentence(error.message), "line": error.lineno}
        except TemplateError as error:
            answer = {"error": _sentence(error.message), "line": _line(error)}
        except yaml.YAMLError:
            answer = {"error": "default-values are not YAML."}
        except MemoryError:
            answer = {"error": f"it needs more than {MEMORY // 2**20} MiB of memory."}
        except Exception as error:  # noqa: BLE001 (whatever a template may do is its author's to know)
            answer = {"error": _sentence(f"{type(error).__name__}: {error}"), "line": _line(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _sentence(message: str | None) -> str:
    return f"{(message or 'it is no template')[:_LONGEST_MESSAGE].rstrip('.')}."


class TooLargeError(Exception):
    """More comes of a template than is taken."""


def _bounded(parts: Iterator[str]) -> Iterator[str]:
    size = 0
    for part in parts:
        size += len(part)
        if size > LARGEST:
            raise TooLargeError(f"more than {LARGEST} characters would come of it")
        yield part


def _line(error: BaseException) -> int:
    """The line of the template in which it was raised; 0 if none is known."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _used_memory() -> int:
    with suppress(OSError, ValueError), open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _limit(what: int, most: int) -> None:
    # Some systems know no limit of memory; time is limited on all.
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


if __name__ == "__main__":
    main()
