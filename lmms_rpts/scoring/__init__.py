"""From a response to its record: read it, judge its steps, fill the record, compute the metrics."""
