"""What all rooms stand on: settings, files and rows, errors, escaping, masking, the terminal."""
