"""A real Kubernetes control plane on this machine: etcd, kube-apiserver and kube-controller-manager.

``programs`` builds them from Go's module proxy, ``credentials`` makes keys and certificates, ``runs``
starts and ends processes, and ``plane`` puts these together. Nothing here listens beyond loopback, and
nothing but the built programs outlives a ``with`` block.
"""

from closeknit.testing.control_plane.plane import ControlPlane, control_plane
from closeknit.testing.control_plane.programs import GoMissingError, ProgramError

__all__ = ["ControlPlane", "GoMissingError", "ProgramError", "control_plane"]
