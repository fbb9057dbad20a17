"""The digest follows the code's meaning, along imports, and nothing else."""

from pathlib import Path

import pytest

from commwall.records import freshness
from commwall.records.layout import Layout
from commwall.records.store import read_record, write_record
from commwall.schema.record import Protocol
from tests.golden import build

STEP = "def step():\n    from commwall.schema import units\n    return units.GIB\n"
SOURCES = {
    "__init__.py": "",
    "schema/__init__.py": "",
    "schema/units.py": "GIB = 2**30\n",
    "workers/__init__.py": "",
    "workers/start.py": "",
    "workers/__main__.py": "from commwall.workers import training\n",
    "workers/training.py": STEP,
    "report/__init__.py": "",
    "report/page.py": "from commwall.schema.units import GIB\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(freshness, "PACKAGE_DIR", tmp_path)
    return tmp_path


def suite_digest() -> str:
    freshness._meaning.cache_clear()
    return freshness.code_digest(*freshness.suite_modules("training"))


def test_the_closure_follows_imports_inside_functions(package: Path) -> None:
    names = {path.name for path in freshness.closure("commwall.workers.training")}
    assert names == {"__init__.py", "training.py", "units.py"}


@pytest.mark.parametrize(
    "block",
    [
        "class C:\n  def f(self):\n    {}\n",
        "async def f():\n  async with f():\n    {}\n",
        "for x in ():\n  pass\nelse:\n  {}\n",
        "try:\n  pass\nexcept ImportError:\n  {}\n",
        "try:\n  pass\nexcept* ImportError:\n  pass\nfinally:\n  {}\n",
        "match 1:\n  case 1:\n    {}\n",
        "if 1:\n  pass\nelif 2:\n  {}\n",
    ],
)
def test_the_closure_follows_imports_inside_every_block(package: Path, block: str) -> None:
    (package / "workers/training.py").write_text(block.format("import commwall.schema.units"))
    freshness._meaning.cache_clear()
    assert package / "schema/units.py" in freshness.closure("commwall.workers.training")


def test_a_package_stands_for_its_modules(package: Path) -> None:
    names = [path.name for path in freshness.closure("commwall.report")]
    assert "page.py" in names and "training.py" not in names


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n" + STEP,
        '"""A docstring."""\n' + STEP,
        "def step():\n    'doc'\n    from commwall.schema import units\n\n    return (units.GIB)\n",
    ],
)
def test_comments_docstrings_and_layout_do_not_count(package: Path, text: str) -> None:
    before = suite_digest()
    (package / "workers/training.py").write_text(text)
    assert suite_digest() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("workers/training.py", STEP.replace("units.GIB", "-units.GIB")),
        ("schema/units.py", "GIB = 10**9\n"),
        ("workers/training.py", "def step(:\n"),
    ],
)
def test_a_change_of_meaning_counts_also_in_what_is_imported(
    package: Path, name: str, text: str
) -> None:
    before = suite_digest()
    (package / name).write_text(text)
    assert suite_digest() != before


def test_code_outside_the_closure_does_not_count(package: Path) -> None:
    before = suite_digest()
    (package / "report/page.py").write_text("GIB = 1\n")
    assert suite_digest() == before


def test_unacknowledged_code_is_its_own_protocol(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = suite_digest()
    protocols = package / "protocols.json"
    protocols.write_text("{}")
    monkeypatch.setattr(freshness, "PROTOCOLS_PATH", protocols)
    assert freshness.protocol("training") == f"digest-{digest[:12]}"
    protocols.write_text(f'{{"training": {{"{digest}": "7"}}}}')
    assert freshness.protocol("training") == "7"
    assert freshness.freshness_key("training", "abc") == "training-7-abc"


def test_code_that_is_acknowledged_later_counts_as_what_it_was_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols = tmp_path / "protocols.json"
    monkeypatch.setattr(freshness, "PROTOCOLS_PATH", protocols)
    golden = build.record(build.FAST, 1)
    code, lock = golden.software.code_digest, golden.software.lock_digest
    unknown = Protocol(version=f"digest-{code[:12]}", freshness_key=f"training-digest-{lock}")
    path = write_record(Layout(tmp_path), golden.model_copy(update={"protocol": unknown}))
    protocols.write_text('{"training": {"another digest": "7"}}')
    assert read_record(path).protocol == unknown
    protocols.write_text(f'{{"training": {{"{code}": "7"}}}}')
    known = Protocol(version="7", freshness_key=f"training-7-{lock[:24]}")
    assert read_record(path).protocol == known
    # one that was acknowledged when it measured keeps what it was called
    assert read_record(write_record(Layout(tmp_path), golden)).protocol == golden.protocol


def test_an_unknown_entry_is_refused(package: Path) -> None:
    with pytest.raises(FileNotFoundError, match="commwall.workers.money"):
        freshness.code_digest("commwall.workers.money")
