"""Microcanonical Langevin dynamics with minibatches, beside splitting SGHMC."""
