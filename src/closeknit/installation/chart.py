"""The files of the Helm chart that follow from the code.

Templates read them and choose what the values ask for: a family that is external has no
definitions, no entries of webhooks and no grants of its own.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from closeknit.admission.reviewed import REVIEWED
from closeknit.admission.webhooks import Endpoint, configurations
from closeknit.dialects.definitions import FAMILIES
from closeknit.installation.privileges import GRANTS

OPERATOR: Final = "OPERATOR-USER"
"""Stands for the account of the controllers, which the chart knows."""
FOLDER: Final = "generated"


def generated() -> dict[str, str]:
    """By path in the chart, the content of each file."""
    made = {
        f"{FOLDER}/crds/{name}.yaml": yaml.safe_dump_all(definitions, sort_keys=False, width=110)
        for name, definitions in _definitions().items()
    }
    made[f"{FOLDER}/webhooks.json"] = _json(_webhooks())
    made[f"{FOLDER}/privileges.json"] = _json(
        {
            component.value: [
                {
                    "family": grant.family,
                    "local": grant.local,
                    "option": grant.option,
                    "rule": grant.rule(),
                }
                for grant in grants
            ]
            for component, grants in GRANTS.items()
        }
    )
    return made


def _definitions() -> dict[str, list[dict[str, Any]]]:
    """By family, its definitions; JobSet's apart, because it comes with a controller of its own elsewhere."""
    made: dict[str, list[dict[str, Any]]] = {}
    for family, definitions in FAMILIES.items():
        for each in (one.written() for one in definitions):
            name = "jobset" if each["spec"]["group"] == "jobset.x-k8s.io" else family
            made.setdefault(name, []).append(_kept(each))
    return made


def _kept(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition that stays when the chart is removed: with it would go all objects of its kind."""
    metadata = definition["metadata"]
    annotations = {**metadata.get("annotations", {}), "helm.sh/resource-policy": "keep"}
    return {**definition, "metadata": {**metadata, "annotations": annotations}}


def _webhooks() -> dict[str, dict[str, list[Any]]]:
    """By sort and family, the entries; which service they call is for the chart to say."""
    made: dict[str, dict[str, list[Any]]] = {"mutating": {}, "validating": {}}
    endpoint = Endpoint(client={"service": {}})
    for family in REVIEWED:
        found = configurations(endpoint, families=[family], operators=[OPERATOR])
        for sort, configuration in zip(made, found, strict=True):
            if configuration["webhooks"]:
                made[sort][family] = configuration["webhooks"]
    return made


def _json(content: Any) -> str:
    return json.dumps(content, indent=1) + "\n"
