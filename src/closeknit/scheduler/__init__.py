"""Decide which workload runs next and where: queue order, ways to run, quota, placement.

Planning is pure: it takes an engine, a cluster and workloads, and says what becomes of each. Nothing
in this package writes to a cluster.
"""
