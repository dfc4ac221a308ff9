"""lmms-eval models of the plugin."""
