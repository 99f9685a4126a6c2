"""Every sentence about a problem, as one table in parts: a module for each family and layer.

Each entry is a ``Code``: a name that scripts rely on, and a sentence with the names of its facts in
braces. Facts are written by their type (``closeknit.hub.problems``): texts in quotes unless the sentence
says ``:raw``, other fields as paths, what is allowed as the remedy. Nothing here decides anything, and no
code branches on an entry: what can resolve a problem is its ``Category``.
"""
