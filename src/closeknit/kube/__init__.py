"""The outside: one port to a Kubernetes API, and the adapters behind it.

``port`` says what a cluster can be asked; ``errors`` how it refuses;
``resources`` which kinds there are. Nothing here knows of topologies,
dialects or placement.
"""
