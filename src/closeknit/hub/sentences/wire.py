"""What is said of an object's shape, its kind and its name, and of writing it for others."""

from __future__ import annotations

from closeknit.hub.problems import Category, Code

# fmt: off
# Fields.
WRONG_TYPE = Code("wrong-type", "Found {found:raw} where {expected:raw} is expected.{remedy:raw}")
OUT_OF_RANGE = Code("out-of-range", "{value:raw} is out of range. Allowed is {limit:raw}.")
MISSING_FIELD = Code("missing-field", "This field is missing.")
UNKNOWN_FIELD = Code("unknown-field", "There is no field {field} here. {remedy:raw}", category=Category.SKIPPABLE)

# Objects.
NO_OBJECT = Code("no-object", "Found {found:raw} where an object with apiVersion and kind is expected.")
UNTYPED_OBJECT = Code("untyped-object", "An object needs {field:raw}, a string such as {example}.")
UNKNOWN_VERSION = Code("unknown-version", "{kind:raw} is not read in version {version}. {remedy}")
UNKNOWN_GROUP = Code("unknown-group", "There is no API group {group}. Did you mean {near}?")
UNKNOWN_KIND = Code("unknown-kind", "There is no kind {kind} in this API group. {remedy}")
NAMELESS = Code("nameless", "An object needs a name.")
INVALID_NAME = Code("invalid-name", "{name} is not a valid name. Allowed are at most 253 lower-case letters, digits, dashes and dots, with a letter or digit at both ends of each part.")
OBJECT_TWICE = Code("object-twice", "There is already a {kind:raw} {name} in {origin:raw}. Remove one, or rename it.")

# Translation.
UNKNOWN_TARGET = Code("unknown-target", "{target} is no target. Allowed: {targets:raw}.")
NOT_EXPRESSIBLE = Code("not-expressible", "{kind:raw} {name} cannot be said in the words of {family:raw}: {problem}")
TOPOLOGY_WRITTEN_TWICE = Code("topology-written-twice", "{kind:raw} {name} would be written twice, with different levels. Rename one of the topologies.")
OBJECT_WRITTEN_TWICE = Code("object-written-twice", "{kind:raw} {name} would be written twice: for {other_kind:raw} {other} and for {own_kind:raw} {own}. Its name follows from theirs, so rename one of them.")
