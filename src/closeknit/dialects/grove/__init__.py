"""Grove: PodCliqueSet with constraints at three levels, and the topologies that they name.

Reads both generations: ``packDomain`` and ClusterTopology beside ``pack`` and
ClusterTopologyBinding, and the configuration file in which levels were listed before.
A PodGang whose set is not there is a workload of its own.
Beyond Grove, the constraint of a set holds across the base gang and the scaled gangs of
one replica, and a preference may stand at any place.

``blueprint`` is the normal form of a set; the ``to_*`` modules are pure functions of it. This package
may use that of KAI, and no other family's.
"""

from closeknit.dialects.grove.family import GROVE

__all__ = ["GROVE"]
