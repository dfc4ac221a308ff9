"""Custom tasks: a short YAML and a file of instances, expanded to complete tasks of lmms-eval."""

KEY = "rpts"
"""The key of a YAML that is expanded."""
