"""What made the pages, as the provenance page tells it.

Layer: report. Reads and writes no file: the machine is asked by the verb, which may.
"""

from dataclasses import dataclass

from commwall.language.translate import tr, tr_later
from commwall.schema.environment import Manifest
from commwall.schema.result import Gap

NOT_MADE = tr_later("it was not made here")


@dataclass(frozen=True)
class Origin:
    """The program that published."""

    version: str
    """Of commwall."""
    commit: str | Gap
    """Of the checkout; a `+` after it stands for local changes."""
    python: str
    environments: tuple[Manifest | Gap, ...] = ()
    """Each as it was made here; a gap has the name of the environment."""

    def rows(self) -> list[tuple[str, str]]:
        """What to tell, each with its name."""
        return [
            (tr("commwall"), self.version),
            (tr("commit of the checkout"), _known(self.commit)),
            (tr("Python that wrote the pages"), self.python),
            *map(_environment_row, self.environments),
        ]


def _known(value: str | Gap) -> str:
    if isinstance(value, Gap):
        return tr("not known: {reason}", reason=tr(value.reason))
    return value


def _environment_row(environment: Manifest | Gap) -> tuple[str, str]:
    if isinstance(environment, Gap):
        return tr("environment {name}", name=environment.what), _known(environment)
    name = tr("environment {name}", name=environment.name)
    n, apart = f"{len(environment.packages):,}", len(environment.differences)
    words = tr(
        "Python {python}, {n} packages, lock {lock}",
        python=environment.python,
        n=n,
        lock=environment.lock_digest,
    )
    return name, words + (tr("; {n} depart from it", n=apart) if apart else "")
