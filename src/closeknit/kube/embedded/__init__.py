"""An embedded cluster: the Kubernetes API without an installation, in memory or in one SQLite file.

It behaves as kube-apiserver does, as far as a scheduler, operators and kubectl
can tell; ``docs/reference/embedded-cluster.md`` lists what it leaves out.
"""
