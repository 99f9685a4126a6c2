"""What is said of Kubernetes' own PodGroups and Workloads."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

# fmt: off
NOT_ONE_POLICY = Code("not-one-policy", "A group has exactly one policy. Write gang with minCount, or basic: {{}}.")
NO_GANG = Code("no-gang", "{value} pods are no gang. Write one or more.")
SECOND_CONSTRAINT = Code("second-constraint", "There are {count} constraints. A group has one at most.")
NOT_A_TOPOLOGY_KEY = Code("not-a-topology-key", "{key} is not the key of a label. Write one such as topology.kubernetes.io/zone.")
TOO_MANY = Code("too-many-in-group", "There are {count} {what:raw}. Allowed are at most {most}.")
NOT_A_PART_NAME = Code("not-a-part-name", "{name} is not a valid name. Allowed are at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.")
PART_NAME_TAKEN = Code("part-name-taken", "{name} is already the name of {first}. Give each its own.")
NOT_ONE_CLAIM = Code("not-one-claim", "A claim names either a ResourceClaim or a ResourceClaimTemplate. Write exactly one of the two.")
CLAIMS_NOT_COUNTED = Code("group-claims-not-counted", "What pods of the group claim together is not taken into account when they are placed.", Severity.NOTE)
NO_TEMPLATES = Code("no-templates", "There are no templates. Describe at least one.")
TEMPLATE_WITHOUT_GROUP = Code("template-without-group", "No PodGroup is made of template {template} yet, so it asks for nothing.", Severity.NOTE)
FIXED = Code("group-fixed", "This cannot change. Delete the {kind:raw} and create it anew.")

# What Kubernetes' gangs have no words for.
NO_GROUPS_INSIDE = Code("gang-without-groups", "{member}: It is required to be in one {level} by itself, and a gang of Kubernetes has no groups inside it.")
NOT_COUNTED_AS_ONE = Code("gang-counted-as-one", "{member}: Some of its pods must run and others need not; a gang of Kubernetes counts all its pods alike.")
