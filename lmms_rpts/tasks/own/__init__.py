"""Own tasks: a YAML, a file of instances with their images, and the module that reads them."""
