"""Sub-commands of ``lmms-rpts``."""
