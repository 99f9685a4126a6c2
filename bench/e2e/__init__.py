"""The scheduler on a real API server, from manifests to bindings."""
