"""How a user starts what a next step names: the workflow, and each verb.

Layer: schema. Nothing but the Makefile's targets is on a user's path: programs are named with the
environment that has them.
"""

MEASURE = "make report"
LOOK = ".venv/bin/snakemake -n"
DRIVER = ".venv/bin/commwall"
VERBS_ELSEWHERE = {"bench": ("measure", "tune"), "report": ("tables", "render", "site")}
"""Environment -> the verbs that need more than the driver's packages."""


def environment_of(verb: str) -> str | None:
    """The environment below `.envs` that a verb needs; None where the driver's is enough."""
    return next((name for name, verbs in VERBS_ELSEWHERE.items() if verb in verbs), None)


def command(verb: str) -> str:
    """What starts a verb, in the checkout."""
    needed = environment_of(verb)
    return f".envs/{needed}/bin/python -m commwall {verb}" if needed else f"{DRIVER} {verb}"
