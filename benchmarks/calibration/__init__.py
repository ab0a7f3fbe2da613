"""Untuned kernels on nine models, beside reference posteriors."""
