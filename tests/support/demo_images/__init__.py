"""Drawing of the images that the demo bundles."""
