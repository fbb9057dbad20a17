"""`python -m commwall VERB`: the same as the command `commwall`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older one cannot even load what follows
    sys.exit("commwall needs Python 3.11 or newer; this is " + sys.version.split()[0])

from commwall.cli.main import main  # noqa: E402

sys.exit(main())
