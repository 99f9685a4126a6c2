"""Tables as text: what a server answers, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from closeknit.scheduler.wording import printable

if TYPE_CHECKING:
    from closeknit.kube.rest.tables import Column, Row


class TablePrinter:
    """Prints rows in columns whose widths stay the same once they are known."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        wide: bool,
        namespaces: bool,
        labels: Sequence[str] = (),
        prefix: str = "",
    ) -> None:
        self._chosen = [i for i, each in enumerate(columns) if wide or not each.priority]
        self._namespaces = namespaces
        self._labels = labels
        self._prefix = prefix
        self._header = [
            *(["NAMESPACE"] if namespaces else []),
            *(columns[i].name.upper() for i in self._chosen),
            *(each.rpartition("/")[2].upper() for each in labels),
        ]
        self._widths = [0] * len(self._header)

    def lines(self, rows: Iterable[Row], *, header: bool = True) -> Iterator[str]:
        """A line for each row, and one for the header before them."""
        texts = [*([self._header] if header else []), *map(self._cells, rows)]
        for row in texts:
            self._widths = [max(width, len(text)) for width, text in zip(self._widths, row, strict=True)]
        yield from aligned(texts, self._widths)

    def _cells(self, row: Row) -> list[str]:
        metadata = row.metadata
        cells = [cell(row.cells[i]) for i in self._chosen]
        if self._prefix and cells:
            cells[0] = f"{self._prefix}{cells[0]}"
        labels: Mapping[str, str] = metadata.get("labels") or {}
        within = [cell(metadata.get("namespace"))] if self._namespaces else []
        return [*within, *cells, *(cell(labels.get(each)) for each in self._labels)]


def cell(value: object) -> str:
    """A cell in one line."""
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    first, newline, _ = text.partition("\n")
    return printable(f"{first}..." if newline else first)


def aligned(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> Iterator[str]:
    """Rows of text in columns, each at least so wide."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths = [max(pair) for pair in zip(widths, least, strict=True)] if least else widths
    for row in rows:
        padded = "   ".join(text.ljust(width) for width, text in zip(widths, row, strict=True))
        yield f"{padded.rstrip()}\n"
