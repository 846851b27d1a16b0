"""``python -m mpm``."""

from __future__ import annotations

import sys

from mpm.commands.cli import main

sys.exit(main())
