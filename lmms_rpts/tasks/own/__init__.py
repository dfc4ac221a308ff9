"""Tasks of users: a short YAML beside a file of instances, made into whole tasks of lmms-eval."""
