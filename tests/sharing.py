"""Which tests run beside which others, where several processes of tests do (`make test`: two).

Tests that work within their own process are given out module by module, so that what a module
prepares is prepared once; those of the site, who share one, folder by folder, and those behind
Slurm, which mostly wait. Tests that start whole runs, which use both processors and are timed, stay
in one process, and begin when all else is given out: first the workflow's, which bear company.
"""

from xdist.scheduler import LoadScopeScheduling

WHOLE_RUNS = ("workflow", "torch", "e2e", "gpu")
"""Folders whose tests start whole runs, in the order of the run."""
SHARED = ("site", "slurm")
"""Folders whose modules share what costs them most."""


class Sharing(LoadScopeScheduling):
    """Gives out tests in units, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """Name of the unit that a test belongs to: its module, its folder or the whole runs."""
    module = nodeid.partition("::")[0]
    folder = module.split("/")[1]
    if folder in WHOLE_RUNS:
        return "whole runs"
    return folder if folder in SHARED else module
