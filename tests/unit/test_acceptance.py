"""A hand-over: expected against found, from files."""

import json
import re
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.host import outputs
from commwall.judge.handover import Check, Expectations, summary
from commwall.judge.scene import Scene, paste
from commwall.language.translate import speaking
from commwall.report.acceptance import hand_over, open_files, page_of, read_expectations
from commwall.schema.errors import ConfigError
from tests.contracts.tree import ROOT
from tests.corpus import text_of
from tests.languages import NUMBER
from tests.unit.test_judge import H200
from tests.unit.test_judge_corpus import FACTS, INPUTS
from tests.unit.test_judge_rates import A100, GIB, run

SAMPLE = (
    "topo-m.txt",
    "nvlink-s.idle.txt",
    "smi-q-power-performance-clock.txt",
    "nvlink.log",
    "nccl-tests.all_reduce.nvlink.txt",
)


def checks_of(wanted: Expectations | None = None, **files: str) -> dict[str, Check]:
    scene = Scene(tuple(paste(name, text) for name, text in files.items()), FACTS)
    return {one.item: one for one in hand_over(scene, wanted or Expectations()).checks}


def of_corpus(*names: str, **wanted: object) -> dict[str, Check]:
    texts = {name: text_of(INPUTS[name]) for name in names}
    return checks_of(Expectations.model_validate(wanted), **texts)


def of_sample(**wanted: object) -> dict[str, Check]:
    texts = {name: (H200 / name).read_text(encoding="utf-8") for name in SAMPLE}
    return checks_of(Expectations.model_validate(wanted), **texts)


def test_a_good_machine_passes_what_its_files_show() -> None:
    found = of_sample(gpu="NVIDIA H200", gpu_count=2)
    assert {one.outcome for one in found.values()} == {"pass", "open"}
    assert found["PCIe lanes"].outcome == "open"
    rate = found["NVLink of a GPU in one direction"]
    assert (rate.expected, rate.found) == ("450 GB/s", "478 GB/s")
    assert "nvidia-smi states 1/16 more than data sheets" in rate.reason
    assert found["all-reduce"].expected.endswith("or else the usual share of the link's rate")
    assert summary(tuple(found.values()))[0] == "open"


@pytest.mark.parametrize(
    ("wanted", "item"),
    [
        ({"gpu": "NVIDIA B200"}, "model of GPU"),
        ({"gpu_count": 8}, "number of GPUs"),
        ({"nvlink_joins": "pairs"}, "NVLink joins"),
        ({"nvlinks": 19}, "NVLinks up on each GPU"),
        ({"nvlink_bytes_per_s": 500e9}, "NVLink of a GPU in one direction"),
        ({"power_limit_w": 800}, "power limit [W]"),
        ({"all_reduce_bytes_per_s": 400e9}, "all-reduce, busbw"),
    ],
)
def test_less_than_ordered_fails(wanted: dict[str, object], item: str) -> None:
    assert of_sample(**wanted)[item].outcome == "fail"


def test_what_was_agreed_on_counts_above_the_facts() -> None:
    assert of_sample(all_reduce_bytes_per_s=300e9)["all-reduce, busbw"].outcome == "pass"


def test_a_rate_that_cannot_be_passes_no_agreement() -> None:
    found = checks_of(
        Expectations(all_reduce_bytes_per_s=300e9), run=run(A100, 8, {8 * GIB: 400.0})
    )
    assert found["all-reduce"].outcome == "fail"


def test_a_gpu_off_the_fabric_fails_with_its_name() -> None:
    found = of_corpus("topo-b200-gpu2-off-nvlink", "nvlink-b200-gpu1-all-inactive")
    assert found["NVLink joins"].outcome == "fail"
    assert found["NVLinks up on each GPU"].found == "0 to 18"
    assert "GPU2" in found["faults in any file"].found


def test_an_idle_generation_is_open_and_a_narrow_link_fails() -> None:
    found = of_corpus("csv-pcie-width", pcie_generation=4)
    assert (found["PCIe lanes"].outcome, found["PCIe lanes"].found) == ("fail", "4 to 16")
    assert found["PCIe generation"].outcome == "open"


def test_instances_fail_unless_they_are_allowed() -> None:
    item = "GPUs divided into instances"
    assert of_corpus("smi-L-mig")[item].outcome == "fail"
    assert of_corpus("smi-L-mig", divided=True)[item].outcome == "pass"


def test_a_card_without_nvlink_and_access_is_as_it_is_sold() -> None:
    found = of_corpus("topo-2x5090-p2p-gns", "nt-fail-unhandled-cuda")
    assert found["NVLink joins"].outcome == "pass"
    assert found["access between GPUs"].outcome == "pass"
    assert found["all-reduce"].outcome == "fail"


@pytest.mark.parametrize(("wanted", "outcome"), [({}, "open"), ({"nvlink_joins": "pairs"}, "pass")])
def test_bridges_are_expected_only_if_they_were_ordered(
    wanted: dict[str, object], outcome: str
) -> None:
    found = of_corpus("topo-3xa6000-one-bridge", "nvlink-a6000-one-unbridged", **wanted)
    assert found["NVLink joins"].outcome == outcome
    assert found["NVLinks up on each GPU"].outcome == "open"


def test_more_than_ordered_is_not_told_as_less() -> None:
    found = of_corpus("topo-dgxa100-nv12-nic10", nvlink_joins="pairs")["NVLink joins"]
    assert found.outcome == "fail"
    assert found.reason.startswith("more is joined than was ordered")
    found = of_corpus("topo-3xa6000-one-bridge", nvlink_joins="all")["NVLink joins"]
    assert found.reason.startswith("links are missing")


def test_nothing_known_is_open_not_passed() -> None:
    found = checks_of(letter="hello\n")
    assert {one.outcome for item, one in found.items() if item != "faults in any file"} == {"open"}


def test_a_sum_names_the_gravest() -> None:
    def check(outcome: str) -> Check:
        words = dict.fromkeys(("item", "expected", "found", "reason"), "x")
        return Check.model_validate({"outcome": outcome, **words})

    assert summary([check("pass"), check("warn")])[0] == "warn"
    assert summary([check("open"), check("fail")]) == (
        "fail",
        "2 checks: 1 fail, 1 open, the rest pass",
    )
    assert summary([check("pass")]) == ("pass", "1 checks: all pass")


def test_the_page_holds_everything_and_loads_nothing() -> None:
    scene = Scene((paste("<b>.txt", text_of(INPUTS["topo-8x4090-all-sys"])),), FACTS)
    page = page_of(hand_over(scene, Expectations()))
    assert "no NVLink between GPUs: 28 pair(s) SYS" in page
    assert "&lt;b&gt;.txt:2" in page and "<b>.txt" not in page
    assert not re.search(r"<script|<link|<img|src=|href=|url\(", page)


def test_the_page_says_the_same_in_chinese() -> None:
    texts = [(name, (H200 / name).read_text(encoding="utf-8")) for name in SAMPLE]
    scene = Scene(tuple(paste(*each) for each in texts), FACTS)
    english = hand_over(scene, Expectations())
    with speaking("zh"):
        chinese = hand_over(scene, Expectations())
        page = page_of(chinese)
    assert [one.outcome for one in chinese.checks] == [one.outcome for one in english.checks]
    for one, two in zip(english.findings, chinese.findings, strict=True):
        assert one.level == two.level and one.verdict != two.verdict
        assert sorted(NUMBER.findall(one.verdict)) == sorted(NUMBER.findall(two.verdict))
    assert '<html lang="zh">' in page and "机器验收" in page and "符合预期" in page
    assert "as expected" not in page


def test_verb_makes_no_folder_for_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--page", str(tmp_path / "misspelt/page.html"), "gone.txt"]) == 2
    assert "no folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_verb_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    files = [str(H200 / name) for name in SAMPLE]
    assert main(["judge", "--page", str(path), *files]) == 0
    assert "OPEN: 16 checks" in capsys.readouterr().out
    assert "Acceptance of a machine" in path.read_text(encoding="utf-8")


def test_verb_takes_expectations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = tmp_path / "order.yaml"
    order.write_text("gpu_count: 8\n", encoding="utf-8")
    assert main(["judge", "--json", "--expect", str(order), str(H200 / "topo-m.txt")]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "fail"
    order.write_text("gpus: 8\n", encoding="utf-8")
    assert main(["judge", "--expect", str(order), str(H200 / "topo-m.txt")]) == 2
    assert "gpus" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[]", "0", "false"])
def test_expectations_that_are_no_list_of_keys_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "order.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="problem"):
        read_expectations(path)


def test_verb_asks_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [("nvidia-smi topo -m", (H200 / "topo-m.txt").read_text(encoding="utf-8"))]
    monkeypatch.setattr("commwall.cli.judge.tool_outputs", lambda: iter(said))
    assert main(["judge", "--here"]) == 0
    assert "see   nvidia-smi topo -m:2" in capsys.readouterr().out
    assert main(["judge"]) == 2


def test_tools_that_are_not_there_say_nothing() -> None:
    found = dict(outputs.tool_outputs(("echo GPU 0", "no-such-tool -L")))
    assert found == {"echo GPU 0": "echo GPU 0\nGPU 0\n"}


def test_a_notebook_opens_files(tmp_path: Path) -> None:
    found = open_files([str(H200 / name) for name in SAMPLE], None, str(tmp_path))
    assert len(found.checks) == 16
    with pytest.raises(ConfigError, match="cannot read expectations"):
        open_files([], str(tmp_path / "no.yaml"), str(tmp_path))


def test_the_notebook_runs() -> None:
    text = (ROOT / "notebooks/acceptance.py").read_text(encoding="utf-8")
    files = [str(H200 / name) for name in SAMPLE]
    assert "files = []" in text
    cells = text.replace("files = []", f"files = {files!r}").replace('".."', repr(str(ROOT)))
    names: dict[str, object] = {}
    exec(compile(cells, "acceptance.py", "exec"), names)
    assert len(names["found"].checks) == 16  # type: ignore[attr-defined]
