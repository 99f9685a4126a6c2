"""Grove's operator put together."""

from __future__ import annotations

from closeknit.controllers.grove.cliques import CLIQUES
from closeknit.controllers.grove.gangs import GANGS
from closeknit.controllers.grove.groups import GROUPS
from closeknit.controllers.grove.parts import INDEXES, KINDS
from closeknit.controllers.grove.sets import SETS
from closeknit.controllers.grove.startup import start
from closeknit.controllers.grove.topologies import BINDINGS, EARLIER_TOPOLOGIES
from closeknit.controllers.runtime.controller import Operator

GROVE_OPERATOR = Operator(
    "grove",
    (BINDINGS, EARLIER_TOPOLOGIES, SETS, GROUPS, CLIQUES, GANGS),
    kinds=KINDS,
    indexes=INDEXES,
    start=start,
)
