"""Sourced constants a plan needs: sizes of data sets.

Layer: measure. Reads `config/facts/datasets.yaml`.
"""

from pathlib import Path

from pydantic import RootModel

from commwall.schema.base import Model, PositiveInt
from commwall.schema.errors import ConfigError
from commwall.schema.facts import Fact
from commwall.schema.parsing import parse_model, parse_yaml


class Count(Fact):
    """A fact that is a number of things."""

    value: PositiveInt


class Dataset(Model):
    """A public data set."""

    samples: Count
    """Its size; that of a text has the unit `token`."""

    def samples_of(self, sequence_length: int | None) -> int:
        """Samples in it; a text is cut into whole sequences.

        Args:
            sequence_length: tokens per sample, or None for images.
        """
        tokens = sequence_length if self.samples.unit == "token" else None
        return self.samples.value // (tokens or 1)


class Datasets(RootModel[dict[str, Dataset]]):
    """Content of `datasets.yaml`."""


def read_text(root: Path, name: str) -> str:
    """Content of a file of the checkout that the user may have edited or moved.

    Args:
        root: the checkout.
        name: path below it.

    Raises:
        ConfigError: if it is absent or no text.
    """
    try:
        return (root / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "cannot read a file",
            where=name,
            found=getattr(error, "strerror", None) or str(error),
            expected="a readable UTF-8 text",
            next_step="restore it; commands are run in the root of the checkout",
        ) from error


def read_datasets(root: Path) -> dict[str, Dataset]:
    """Known data sets.

    Raises:
        ConfigError: if the file is absent or malformed.
    """
    name = "config/facts/datasets.yaml"
    return parse_model(Datasets, parse_yaml(read_text(root, name), name), name).root
