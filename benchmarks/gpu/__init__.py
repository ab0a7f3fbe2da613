"""What a GPU changes: the paper's networks and factorisations, precision, code for CPUs."""
