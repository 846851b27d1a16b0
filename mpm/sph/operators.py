"""The sums of SPH for arrays of your own."""
