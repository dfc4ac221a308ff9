"""The judge backends of this package; each is imported when it is opened."""
