"""Read the bytes of a file into plain documents: mappings, lists, strings, numbers and booleans.

YAML is read as kubectl reads it (by ``sigs.k8s.io/yaml``), and JSON as JSON. A document that cannot be
read is a problem with its line and column. No module here knows a Kubernetes kind, a field or a default:
what gives meaning to a document belongs to the packages that import this one.
"""
