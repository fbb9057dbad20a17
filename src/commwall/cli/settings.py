"""What the reading verbs take from the configuration, so that text and pages agree.

Layer: cli. Reads config/config.yaml as the workflow last resolved it.
"""

from pathlib import Path

from commwall.measure.planning.configuration import CONFIG_NAME, resolved_config
from commwall.schema.config import Config


def confidence_level(root: Path) -> float:
    """Confidence level of all intervals; the default where there is no configuration file.

    Raises:
        ConfigError: if the file is malformed.
    """
    return settings(root).confidence


def settings(root: Path) -> Config:
    """The configuration; the defaults where there is no file.

    Raises:
        ConfigError: if the file is malformed.
    """
    return resolved_config(root) if (root / CONFIG_NAME).exists() else Config()
