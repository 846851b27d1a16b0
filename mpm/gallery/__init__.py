"""Named scenes."""
