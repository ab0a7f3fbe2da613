"""Ten figures of speed and memory, each a ratio of two sides taken in one run."""
