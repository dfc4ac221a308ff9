"""Whether all that an evaluation needs is in place: ``lmms-rpts doctor`` as plain functions."""
