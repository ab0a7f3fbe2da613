"""The papers' synthetic figures, with our kernels, beside the exact law."""
