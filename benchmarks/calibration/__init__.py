"""Untuned kernels on 27 models, beside reference posteriors."""
