"""Examples on real data: loaders, models and reference posteriors."""
