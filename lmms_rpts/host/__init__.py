"""What knows lmms-eval besides the plugin: models, own tasks, and documents of other tasks."""
