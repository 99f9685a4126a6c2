"""The shapes of objects on the wire, one module for each API group and version.

Shapes only: no rules, no defaults beyond "absent", nothing computed. A shape lists the
fields that are used, and by name those that are valid but not used, so that a misspelt
field can be told from one that simply does not concern us.
"""
