"""What is on file of GPUs and links, by which both halves judge records.

Layer: records. Reads `gpus.yaml`, `links.yaml` and `busbw.yaml` of `config/facts`.
"""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from commwall.schema.achieved import AchievedFile
from commwall.schema.facts import GpuFactsFile, HardwareFacts, LinkRates
from commwall.schema.parsing import parse_model, parse_yaml

GPUS_NAME = "config/facts/gpus.yaml"
LINKS_NAME = "config/facts/links.yaml"
ACHIEVED_NAME = "config/facts/busbw.yaml"
NOTHING_KNOWN = HardwareFacts()
M = TypeVar("M", bound=BaseModel)


def read_hardware(root: Path) -> HardwareFacts:
    """Peaks of GPUs and rates of links; nothing is known where there is no file.

    Args:
        root: the checkout.

    Raises:
        ConfigError: if a file is malformed.
    """
    return HardwareFacts(
        gpus=_read(root, GPUS_NAME, GpuFactsFile) or NOTHING_KNOWN.gpus,
        links=_read(root, LINKS_NAME, LinkRates) or NOTHING_KNOWN.links,
    )


def read_achieved(root: Path) -> AchievedFile:
    """Rates of collectives measured elsewhere; none where there is no file.

    Args:
        root: the checkout.

    Raises:
        ConfigError: if the file is malformed.
    """
    return _read(root, ACHIEVED_NAME, AchievedFile) or AchievedFile({})


def _read(root: Path, name: str, model: type[M]) -> M | None:
    path = root / name
    if not path.exists():
        return None
    return parse_model(model, parse_yaml(path.read_text(encoding="utf-8"), name), name)
