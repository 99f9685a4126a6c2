"""Replays workloads in virtual time, under the real scheduler and under other rules beside it."""
