"""Measures the ways to a Kubernetes API: the REST adapter on a real one, and the embedded cluster."""
