"""The parts of the ``lmms-rpts`` command."""
