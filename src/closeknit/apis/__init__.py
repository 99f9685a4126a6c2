"""The shapes of objects on the wire, one module for each API group and version.

Shapes only: no rules, no defaults beyond "absent", nothing computed. A shape lists the
fields that are used, and by name those that are valid but not used, so that a misspelt
field can be distinguished from one that is simply not used here.
"""
