"""Objects in files, as they are handed to a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.cli.written_objects import objects_in
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import text
from tests.kit.problems import finding, findings

WORKFLOW = "workflow: {name: w, tasks: [{name: t, image: i, command: [c], command: [d]}]}"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {hostname: a, hostname: b}\n"


def test_a_note_on_a_file_in_a_format_of_its_own_is_no_reason_to_refuse_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.yaml").write_text(WORKFLOW)

    (found,) = objects_in([str(tmp_path / "w.yaml")])

    assert (found.kind, found.name) == ("Workflow", "w")
    told = capsys.readouterr().err
    assert told.startswith(f"note: {tmp_path / 'w.yaml'}:1:workflow.tasks[0].command: ")


def test_a_problem_is_told_as_everywhere_with_file_document_and_field(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POD)

    with pytest.raises(InvalidError) as caught:
        objects_in([str(tmp_path / "p.yaml")])

    where = f"{tmp_path / 'p.yaml'}:1:spec.hostname"
    assert findings(caught.value.problems) == [
        finding(text.KEY_TWICE, where, key="hostname", second="line 4, column 21")
    ]
