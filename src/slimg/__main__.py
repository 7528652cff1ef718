"""``python -m slimg`` is ``slimg``: an interrupt while modules are imported ends as one that comes later."""

import os
import sys


def main() -> int:
    """Run one command of the process's arguments.

    Returns
    -------
    int
        The exit code (`slimg.cli`).
    """
    try:
        from slimg.cli import main as run

        return run()
    except KeyboardInterrupt:
        os.write(2, b"slimg: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
