"""Operators of the families: what is written for people's objects, kept as it should be, and told about."""
