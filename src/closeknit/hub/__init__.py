"""The vocabulary that every other package shares.

Frozen values and the rules that hold for them, on the standard library alone.
Nothing here may read a file, ask a clock, or know of Kubernetes' wire format,
of NumPy or of any dialect. A type belongs here once two layers exchange it.
"""
