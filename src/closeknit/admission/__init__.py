"""Admission: what may be created and changed, asked by an API server over TLS or by the embedded cluster.

``review`` and ``defaults`` decide, and are functions; ``reviewed`` is the table of what they are asked about.
The rules themselves are those of the families. ``server`` and ``embedded`` ask on behalf of the two kinds of
API servers, so both give the same answers.
"""
