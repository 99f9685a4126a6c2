"""The function: what a request asks and what a cluster has go in, an outcome comes out.

Pure but for its own state: nothing here reads a clock, a file or a dice, writes
a log, or knows of Kubernetes. What a caller needs is exported here; the other
modules are nobody else's business.
"""

from closeknit.engine.budget import UNPACED, Budget, Pace
from closeknit.engine.engine import Engine, solve

__all__ = ["UNPACED", "Budget", "Engine", "Pace", "solve"]
