"""`commwall lint-env`: NCCL variables that do not do what they seem to.

Layer: cli. Reads `config/facts` and, without arguments, the environment of this process.
"""

import argparse
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from commwall.cli.inputs import InputError
from commwall.judge.facts import facts_root, read_facts
from commwall.judge.lint import PREFIX, Path as Way, Remark, lint

EXIT_ERRORS = 2
_VERSION = re.compile(r"\d+(\.\d+){1,2}([-+][\w.]+)?")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="default: the current environment"
    )
    parser.add_argument("--nccl-version", metavar="2.x.y", help="the release that will read them")
    parser.add_argument(
        "--path", choices=get_args(Way), help="the way of the traffic, if it is known"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print what is wrong; exit code 2 if a setting is ignored, refused or contradicted."""
    version = arguments.nccl_version
    if version is not None and not _VERSION.fullmatch(version):
        raise InputError("cannot read a version", found=repr(version), expected="such as 2.28.9")
    settings = _settings(arguments.settings) if arguments.settings else dict(os.environ)
    facts = read_facts(facts_root(Path()))
    remarks = lint(
        settings,
        facts.variables,
        version=version,
        way=arguments.path,
        socket_threads_most=facts.thresholds.socket_threads_most.value,
    )
    own = sorted(name for name in settings if name.startswith(PREFIX))
    print(_json(remarks) if arguments.json else _text(remarks, own))
    return EXIT_ERRORS if any(remark.level == "error" for remark in remarks) else 0


def _settings(words: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in map(_setting, words):
        if name in found:
            both = f"{name}={found[name]} and {name}={value}"
            raise InputError("a variable is set twice", found=both, expected="each name once")
        found[name] = value
    return found


def _setting(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise InputError("cannot read a setting", found=repr(word), expected="NAME=VALUE")
    return name, value


def _json(remarks: tuple[Remark, ...]) -> str:
    found = [remark.model_dump(mode="json", exclude={"evidence"}) for remark in remarks]
    return json.dumps({"remarks": found}, indent=1, ensure_ascii=False)


def _text(remarks: tuple[Remark, ...], own: list[str]) -> str:
    if not remarks:
        return f"nothing against {', '.join(own)}" if own else f"no {PREFIX}* variable is set"
    lines = []
    for remark in remarks:
        lines.append(f"{remark.level:<8} {remark.variable}={remark.value}: {remark.says}")
        if remark.instead:
            lines.append(f"{'':<8} → {remark.instead}")
    return "\n".join(lines)
