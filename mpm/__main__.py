"""``python -m mpm``."""

from __future__ import annotations

import sys

from mpm.cli import main

sys.exit(main())
