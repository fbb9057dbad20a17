"""Brings the catalogues of translations up to date, and says what has no translation yet."""

import sys
from pathlib import Path

from commwall.language.messages import update

if __name__ == "__main__":
    missing = update(Path(__file__).resolve().parents[1])
    for name, count in missing.items():
        sys.stdout.write(f"{name}: {count} without translation\n")
    sys.exit(1 if any(missing.values()) else 0)
