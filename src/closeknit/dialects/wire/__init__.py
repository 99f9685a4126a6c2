"""Recognise objects by kind, decode them into wire types, and say every way in which they differ."""
