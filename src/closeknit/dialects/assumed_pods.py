"""What pods ask for where none are given: an annotation tells, or else it is one GPU."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.dialects import json_text
from closeknit.dialects.amounts import resources
from closeknit.dialects.paths import within
from closeknit.dialects.pods import Shape
from closeknit.dialects.spelling import found as worded
from closeknit.hub.problems import Problem, shown
from closeknit.hub.quantities import Rounding
from closeknit.hub.resources import Resources

RESOURCES_ANNOTATION = "closeknit.dev/pod-resources"
ONE_GPU = Shape(Resources({"nvidia.com/gpu": 1}))
"""What an assumed pod asks for unless the annotation says otherwise."""
_PATH = within("metadata.annotations", RESOURCES_ANNOTATION)
_EXAMPLE = 'Write quantities by resource, such as {"nvidia.com/gpu": "8"}.'


def assumed_shape(annotations: Mapping[str, str], found: list[Problem]) -> Shape:
    """What each pod of a workload with these annotations asks for; problems are added to ``found``."""
    written = annotations.get(RESOURCES_ANNOTATION)
    if written is None:
        return ONE_GPU
    documents = json_text.load(written)
    if documents is None or len(documents) != 1 or not isinstance(documents[0][0], dict):
        found.append(Problem(_PATH, f"{shown(written)} is not a JSON object. {_EXAMPLE}"))
        return ONE_GPU
    content = documents[0][0]
    for name, quantity in content.items():
        if type(quantity) not in (str, int, float):
            message = f"Found {worded(quantity)} where a quantity is expected. {_EXAMPLE}"
            found.append(Problem(within(_PATH, name), message))
    quantities = {name: quantity for name, quantity in content.items() if type(quantity) in (str, int, float)}
    return Shape(resources(quantities, _PATH, Rounding.UP, found))
