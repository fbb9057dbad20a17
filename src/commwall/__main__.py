"""`python -m commwall VERB`: the same as the command `commwall`."""

import sys

from commwall.cli.main import main

sys.exit(main())
