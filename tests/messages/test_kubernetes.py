"""Messages about Kubernetes' own gang API."""

from __future__ import annotations

from closeknit.hub.problems import Field
from closeknit.hub.sentences import kubernetes
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(kubernetes.NOT_ONE_POLICY, "A group has exactly one policy. Write gang with minCount, or basic: {}."),
    message(kubernetes.NO_GANG, "0 pods are no gang. Write one or more.", value=0),
    message(kubernetes.SECOND_CONSTRAINT, "There are 2 constraints. A group has one at most.", count=2),
    message(kubernetes.NOT_A_TOPOLOGY_KEY, '"a b" is not the key of a label. Write one such as topology.kubernetes.io/zone.', key="a b"),
    message(kubernetes.TOO_MANY, "There are 9 templates. Allowed are at most 8.", count=9, what="templates", most=8),
    message(kubernetes.NOT_A_PART_NAME, '"A_B" is not a valid name. Allowed are at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.', name="A_B"),
    message(kubernetes.PART_NAME_TAKEN, '"a" is already the name of spec.resourceClaims[0]. Give each its own.', name="a", first=Field(path=("spec", "resourceClaims", 0))),
    message(kubernetes.NOT_ONE_CLAIM, "A claim names either a ResourceClaim or a ResourceClaimTemplate. Write exactly one of the two."),
    message(kubernetes.CLAIMS_NOT_COUNTED, "What pods of the group claim together is not taken into account when they are placed."),
    message(kubernetes.NO_TEMPLATES, "There are no templates. Describe at least one."),
    message(kubernetes.TEMPLATE_WITHOUT_GROUP, 'No PodGroup is made of template "workers" yet, so it asks for nothing.', template="workers"),
    message(kubernetes.FIXED, "This cannot change. Delete the PodGroup and create it anew.", kind="PodGroup"),
    message(kubernetes.NO_GROUPS_INSIDE, '"a": It is required to be in one "topology/rack" by itself, and a gang of Kubernetes has no groups inside it.', member="a", level="topology/rack"),
    message(kubernetes.NOT_COUNTED_AS_ONE, '"m83": Some of its pods must run and others need not; a gang of Kubernetes counts all its pods alike.', member="m83"),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("kubernetes", MESSAGES) == []
