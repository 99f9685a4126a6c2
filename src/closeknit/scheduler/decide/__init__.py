"""Decides one unit at a time, in slices between which others run, within a share of time for each tenant."""
