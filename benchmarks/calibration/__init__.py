"""Untuned kernels on 28 models, beside reference posteriors."""
