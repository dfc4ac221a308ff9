"""lmms-eval tasks of the plugin."""
