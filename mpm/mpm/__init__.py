"""The Material Point Method."""
