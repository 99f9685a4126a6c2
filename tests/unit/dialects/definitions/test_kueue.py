"""What ``kubectl get`` shows of Kueue's kinds in each version."""

from __future__ import annotations

import pytest

from closeknit.dialects.definitions.kueue import DEFINITIONS


@pytest.mark.parametrize(
    ("kind", "column", "version", "want"),
    [
        pytest.param("ClusterQueue", "Cohort", "v1beta2", ".spec.cohortName", id="the cohort of a queue"),
        pytest.param("ClusterQueue", "Cohort", "v1beta1", ".spec.cohort", id="the same in the older version"),
        pytest.param("Cohort", "Parent", "v1beta2", ".spec.parentName", id="the parent of a cohort"),
        pytest.param("Cohort", "Parent", "v1beta1", ".spec.parent", id="that in the older version"),
    ],
)
def test_a_column_reads_the_spelling_of_its_version(kind: str, column: str, version: str, want: str) -> None:
    (definition,) = (each for each in DEFINITIONS if each.kind == kind)
    (written,) = (each for each in definition.written()["spec"]["versions"] if each["name"] == version)

    shown = {each["name"]: each["jsonPath"] for each in written["additionalPrinterColumns"]}
    assert shown[column] == want
