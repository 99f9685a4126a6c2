"""What is said of writes that are refused whatever they write."""

from __future__ import annotations

from closeknit.hub.problems import Code

# fmt: off

MANAGED = Code("managed-by-the-operator", "An operator made this {kind:raw} from its configuration and looks after it. Change the configuration instead.")
