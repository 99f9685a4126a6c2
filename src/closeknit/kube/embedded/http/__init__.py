"""The embedded cluster over HTTP, in the shape that kubectl and client libraries expect.

Nothing here decides anything about objects: it reads requests, asks the
cluster, and writes answers.
"""
