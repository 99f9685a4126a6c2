"""The port over HTTP: a Kubernetes API server, real or embedded, wherever it runs.

``access`` says where the server is and who asks, ``transport`` sends requests, ``decoding`` reads
answers, and ``api`` puts them behind the port. Nothing here decides what to ask for.
"""

from closeknit.kube.rest.access import Access, ConfigurationError, Connection, FixedAccess, load_access
from closeknit.kube.rest.api import RestApi, connect

__all__ = ["Access", "ConfigurationError", "Connection", "FixedAccess", "RestApi", "connect", "load_access"]
