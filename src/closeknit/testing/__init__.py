"""The public test kit: clusters drawn as text, builders, random instances, and exact judges.

It may use every package but the command line, and only tests use it. The judges
(``meaning``, ``check``, ``oracle``) follow ``docs/reference/semantics.md`` on hub
types and share no code with the engine, or they could not find its mistakes.
"""
