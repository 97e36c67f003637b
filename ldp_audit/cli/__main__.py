"""python -m ldp_audit.cli."""

import sys

from ldp_audit.cli import main

if __name__ == "__main__":
    sys.exit(main())
