"""Kueue's operator: Workloads for what queues, their admission, and the pods that are let go by topology."""
