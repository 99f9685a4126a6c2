"""Pods and nodes by which our filters and those of kube-scheduler are compared."""
