"""Reads what is replayed: workloads from YAML and CSV, and sites from lists of nodes and of switches."""
