"""``python -m slimg`` is ``slimg``."""

import sys

from slimg.cli import main

sys.exit(main())
