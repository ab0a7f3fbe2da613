"""What workers gain with gradients that come late, by the package's own recursion."""
