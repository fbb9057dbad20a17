"""What the reading verbs take from config/config.yaml, so that text and pages agree."""

from pathlib import Path

from commwall.schema.config import Config
from commwall.schema.parsing import parse_model, parse_yaml

CONFIG_PATH = Path("config/config.yaml")


def confidence_level(root: Path) -> float:
    """Confidence level of all intervals; the default where there is no configuration file.

    Raises:
        ConfigError: if the file is malformed.
    """
    path = root / CONFIG_PATH
    if not path.exists():
        return Config().confidence
    data = parse_yaml(path.read_text(encoding="utf-8"), str(CONFIG_PATH))
    return parse_model(Config, data or {}, str(CONFIG_PATH)).confidence
