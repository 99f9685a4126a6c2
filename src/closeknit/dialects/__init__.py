"""The dialects in which people say how close pods must be: wire shapes in, hub types out.

Pure: bytes and documents come in, values and problems go out. Nothing in this
package opens a file, asks a clock or talks to a cluster.

``read`` is the way in for files. A pod set of the hub carries the name of
the group it belongs to with a number behind a slash (``workers/1``), because groups and
pod sets share one name space; ``group_of`` takes the number off again, for showing it.
"""

from closeknit.dialects.naming import group_of
from closeknit.dialects.places import Located, Skipped, Source
from closeknit.dialects.reading import Reading, read

__all__ = ["Located", "Reading", "Skipped", "Source", "group_of", "read"]
