"""Triangle meshes: reading them, finding what is wrong with them, and telling inside from outside.

A mesh comes from a file of someone else's program, so nothing about it is taken for granted. It is read
strictly (`read`), its equal vertices are merged, its defects are counted (`MeshReport`), what can be mended
is mended with a warning, and what is inside is measured in two independent ways that must agree (`prepare`):

- *signed crossings* of a ray, exact for closed surfaces and fast;
- the *generalised winding number*, the sum of signed solid angles, which holes disturb least
  (Jacobson, Kavan & Sorkine-Hornung, ACM Trans. Graph. 32 (2013) 33).
"""

from __future__ import annotations

from mpm.errors import FileFormatError
from mpm.meshes.distance import distance_lattice, lattice_around, nearest_faces, rows_of_nodes
from mpm.meshes.readers import read
from mpm.meshes.solid import MeshReport, Solid, prepare
from mpm.meshes.topology import merge_equal
from mpm.meshes.winding import crossings, winding_numbers

__all__ = [
    "FileFormatError",
    "MeshReport",
    "Solid",
    "crossings",
    "distance_lattice",
    "lattice_around",
    "merge_equal",
    "nearest_faces",
    "prepare",
    "read",
    "rows_of_nodes",
    "winding_numbers",
]
