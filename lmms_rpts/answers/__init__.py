"""What final answers say, whatever the benchmark; English and Chinese."""
