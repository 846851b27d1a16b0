"""Threads, instruction set and build options of `mpm`.

Environment: ``MPM_NUM_THREADS`` (else ``OMP_NUM_THREADS``, else the processors this process may use), and
``MPM_ISA``, the kernel set: ``scalar`` (the oracle), ``portable``, ``avx2``, ``avx512``. Results have the same bits
only with the same kernel set.
"""

from __future__ import annotations

from mpm.base.config import (
    Configuration,
    configuration,
    get_num_threads,
    isa,
    processor,
    set_num_threads,
    show_config,
    using_isa,
    version,
)

__all__ = [
    "Configuration",
    "configuration",
    "get_num_threads",
    "isa",
    "processor",
    "set_num_threads",
    "show_config",
    "using_isa",
    "version",
]
