"""What is said of a cluster that refuses something."""

from __future__ import annotations

from closeknit.hub.problems import Code

# fmt: off
REFUSED = Code("refused-by-the-cluster", "{message:raw}")
UNSERVED_KIND = Code("unserved-kind", "The embedded cluster does not serve {version:raw}, or not this kind of it. Add its CustomResourceDefinition, or leave the object out.")
UNNAMED_OBJECT = Code("unnamed-object", "The object has no name. Write one, as a string; generateName is not enough.")
