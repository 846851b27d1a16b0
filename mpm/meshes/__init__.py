"""Triangle meshes: reading them, finding their defects, and telling inside from outside.

Meshes come from files of other programs, so nothing about them is taken for granted. `read` reads them strictly.
`prepare` merges equal vertices, counts defects (`MeshReport`), mends what can be mended with a warning, and measures
the inside in two independent ways that must agree:

- *signed crossings* of a ray, exact for closed surfaces and fast;
- the *generalised winding number*, the sum of signed solid angles, which is robust to holes
  (Jacobson, Kavan & Sorkine-Hornung, ACM Trans. Graph. 32 (2013) 33).
"""

from __future__ import annotations

from mpm.errors import FileFormatError
from mpm.meshes.distance import distance_lattice, lattice_around, nearest_faces, slab_nodes
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
    "slab_nodes",
    "winding_numbers",
]
