"""Custom tasks: a short YAML and a file of instances, expanded to complete tasks of lmms-eval."""
