"""What only a CPU needs: random numbers written out, slices for gathers, compiler options."""
