"""How Closeknit is installed in a cluster: what each component may do, and what ``deploy`` holds of that.

``python -m closeknit.installation`` writes the parts of the Helm chart that follow from the code: custom
resource definitions, roles and webhook configurations.
"""
