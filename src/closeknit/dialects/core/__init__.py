"""The core kinds of Kubernetes as the hub knows them: nodes, pods, resources, priority."""
