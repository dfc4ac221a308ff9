"""All that knows the insides of lmms-eval: its tasks, models, results, loggers and caches."""
