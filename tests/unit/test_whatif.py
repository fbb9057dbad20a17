"""`commwall whatif`: words to questions, labels of answers, clear errors; facts as they are."""

import dataclasses
import re
from typing import get_args

import pytest

from commwall.analysis.whatif.answers import answer, at_scale, fastest_ways
from commwall.analysis.whatif.asking import Words, layout_of, question_of
from commwall.analysis.whatif.assumptions import Facts, read_assumptions
from commwall.analysis.whatif.calibration import Calibration
from commwall.analysis.whatif.offers import Offer, offer
from commwall.analysis.whatif.trained import Trained, hidden_of
from commwall.analysis.whatif.words import answer_lines, heading, layout_text, origin_lines
from commwall.cli.main import main
from commwall.model.estimates import Estimate, Origin
from commwall.model.layout import Layout
from commwall.schema.errors import ConfigError
from tests.clock import cpu_seconds
from tests.contracts.tree import ROOT

PRESETS = ("bert-large", "vit-large-16", "llama-7b", "mixtral-8x7b")
ROUNDED = 1 - 1e-9
ASKED_FOR = (
    "a100-pcie-80gb", "a100-sxm-80gb", "rtx-3090", "rtx-4090", "h100-sxm", "h200-sxm", "b200-sxm",
    "gb200",
)  # fmt: skip


@pytest.fixture(scope="module")
def facts() -> Facts:
    return read_assumptions(ROOT)


@pytest.fixture(autouse=True)
def read_once(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verb reads its files in half a second: once is enough for all tests of this module."""
    monkeypatch.setattr("commwall.cli.whatif.read_assumptions", lambda root: facts)


def whatif(*words: str) -> int:
    return main(["whatif", *words])


def told(line: str, text: str) -> tuple[str, str]:
    """Value and label of a printed line."""
    (found,) = re.findall(rf"^{re.escape(line)} {{2,}}(.+?) {{2,}}(\w+)$", text, re.MULTILINE)
    return found


@pytest.mark.parametrize("model", PRESETS)
@pytest.mark.parametrize("kind", ASKED_FOR)
def test_every_model_is_answered_on_every_gpu(model: str, kind: str, facts: Facts) -> None:
    question = question_of(Words(model=model, gpu=kind, gpus=2), facts, None)
    found = answer(question)
    lines = answer_lines(found)
    assert {line.origin for line in lines} <= set(get_args(Origin))
    assert all(line.basis and line.value for line in lines)
    assert found.compute.low < found.compute.high
    for over in found.over:
        assert found.alone.low * ROUNDED <= over.step.low < over.step.high
        most = found.alone.high + over.communication.high
        assert over.step.high * ROUNDED <= most
    for gain in found.gains:
        assert gain.gain.low <= gain.gain.high
    assert f"{question.title} on 2 {kind}:" in heading(question)


def test_parameters_are_those_that_papers_state(facts: Facts) -> None:
    sizes = {name: facts.preset(name)[1] for name in PRESETS}
    assert sizes["llama-7b"].parameters == pytest.approx(6.7e9, rel=0.01)
    assert sizes["bert-large"].parameters == pytest.approx(340e6, rel=0.02)
    assert sizes["mixtral-8x7b"].active_parameters == pytest.approx(12.9e9)


def test_a_link_says_how_its_rate_is_known(facts: Facts) -> None:
    expected = {
        "nvlink": ("published", 181e9, 368e9),
        "nvlink4": ("published", 181e9, 368e9),
        "pcie5": ("assumed", 20e9, 63e9),
        "ib400": ("assumed", 46e9, 48e9),
        "ndr": ("assumed", 46e9, 48e9),
        "roce400": ("assumed", 46e9, 48e9),
        "25GB/s": ("given", 25e9, 25e9),
        "200 Gb/s": ("given", 25e9, 25e9),
    }
    for word, (origin, least, most) in expected.items():
        rate = offer(word, "h200-sxm", facts, {}).bytes_per_s
        assert rate.origin == origin, word
        assert least - 1 <= rate.low <= rate.high <= most + 1, word
    # Half of 480 GB/s, at 16 MiB: the largest size on file that is no larger than a bucket.
    buckets = offer("nvlink", "h200-sxm", facts, {}).bytes_per_s
    assert buckets.low == pytest.approx(363.3e9 * 240.41 / 479.98)
    assert "x 0.50 for buckets of 25 MiB" in buckets.basis
    assert offer("pcie", "a100-pcie-80gb", facts, {}).bytes_per_s.origin == "published"
    assert offer("pcie3", "a100-pcie-80gb", facts, {}).bytes_per_s.origin == "assumed"
    assert offer("nvlink", "h200-sxm", facts, {}).joins == 8
    assert offer("nvlink", "gb200", facts, {}).joins == 72
    # 231.58 to 234.89 GB/s among eight; two were timed with 64 MiB only, at 156.1.
    assert offer("nvlink", "a100-sxm-80gb", facts, {}).bytes_per_s.low > 231e9 * 109 / 232
    # Boards with switches are set against such boards: 0.52 to 0.82 of 450, not a pair's 0.43.
    board = offer("nvlink", "h20", facts, {}).bytes_per_s
    assert board.high < 0.83 * 450e9 and "x 0.16 to 0.82" in board.basis
    # 56.25 GB/s a direction, not the 600 of hearsay, and pairs only.
    bridge = offer("nvlink", "rtx-3090", facts, {})
    assert bridge.joins == 2 and bridge.switch_share == 0
    assert 0.3 * 56.25e9 < bridge.bytes_per_s.low < bridge.bytes_per_s.high <= 56.25e9


def test_gpus_without_peer_access_are_told_to_stage(facts: Facts) -> None:
    staged, peers = (offer("pcie", kind, facts, {}) for kind in ("rtx-4090", "l40s"))
    assert (staged.name, peers.name) == ("host-staged PCIe 4.0 x16", "PCIe 4.0 x16")
    assert "staged through host memory" in staged.bytes_per_s.basis
    assert "staged" not in peers.bytes_per_s.basis


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("llama-7b", "--gpu", "h300"), "did you mean"),
        (("llama-7b", "--gpu", "a100"), "a100-sxm-80gb, a100-sxm-40gb"),
        (("llama-7b", "--gpu", "rubin-sxm", "--gpus", "8"), "--link 900GB/s, say"),
        (("llama-7b", "--gpu", "v100-sxm"), "peak in bfloat16 or size of memory is missing"),
        (("lama-7b", "--gpu", "h200"), "did you mean 'llama-7b'?"),
        (("--params", "7B", "--gpu", "h200"), "no --batch, --sequence"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--link", "nvlink3"), "generation 4"),
        (("llama-7b", "--gpu", "rtx-4090", "--gpus", "8", "--link", "nvlink"), "no NVLink of it"),
        (("llama-7b", "--gpu", "a100-sxm-80gb", "--gpus", "8", "--link", "pcie5"), "4 at most"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--link", "25 apples/s"), "no such link"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--link", "25Gbps"), "in bytes: 3.125GB/s"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--link", "5FLOP/s"), "no rate of a link"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--link", "1e400GB/s"), "no rate of a link"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--link", "ib999"), "where     --link"),
        (("llama-7b", "--gpu", "h200", "--gpus", "16", "--network", "ib300"), "ib200, ib400"),
        (("llama-7b", "--gpu", "h200", "--gpus", "16", "--network", "banana"), "    --network"),
        (("llama-7b", "--gpu", "h200", "--gpus", "64", "--network", "nvlink"), "    --network"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--case", "x"), "--campaign NAME --case x"),
        (("bert-large", "--gpu", "h200", "--hidden", "3", "--heads", "5"), "width 3, 5 heads"),
        (("llama-7b", "--gpu", "h200", "--strategy", "tensor=2,tensor=2"), "each once"),
        (("llama-7b", "--gpu", "a100-pcie-80gb", "--gpus", "8", "--link", "nvlink"), "joins 2"),
        (("llama-7b", "--gpu", "h200", "--gpus", "10", "--strategy", "tensor=5"), "32 attention"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--strategy", "tensor=0"), "such strategy"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--strategy", "luck"), "data, tensor"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--strategy", "expert=2"), "has no experts"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8", "--micro-batch", "3"), "a multiple of the"),
        (("llama-7b", "--gpu", "h200", "--gpus", "8,12", "--strategy", "tensor=8"), "divided so"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(
    words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whatif(*words) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [("--gpus", "0"), ("--gpus", "8,x"), ("--batch", "-4"), ("--layers", "2.5"), ("--mfu", "40"),
     ("--mfu", "0.5-0.3")],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        whatif("llama-7b", "--gpu", "h200", *words)
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert re.search(rf"where +{words[0]}\n  found +.*{words[1][-1]}", told)
    assert "next      `commwall whatif --help`" in told


def test_the_answer_for_a_decoder(capsys: pytest.CaptureFixture[str]) -> None:
    """6 x 6.74e9 x 16384 and 12 x 32 x 4096 x 4096 x 16384 FLOP at 40 % of 989 TFLOP/s."""
    machine = ("--gpu", "h200", "--gpus", "8", "--link", "nvlink4,25GB/s", "--mfu", "0.4")
    assert whatif("llama-7b", *machine) == 0
    text = capsys.readouterr().out
    assert "No campaign is named" in text
    assert told("compute of a step", text) == ("1.94 s", "modelled")
    assert told("bytes synchronised, each GPU", text) == ("13.5 GB", "modelled")
    # 16 x 6.74e9 byte of state, 2 of buckets, 21.2 GB of activations and 0.5 of logits.
    assert told("memory of a GPU", text) == ("143 GB of 141 GB: does not fit", "modelled")
    # 1.26 x 107.8 GB over 141 - 1.26 x 21.7 GB.
    assert told("fewest GPUs that hold it", text) == ("2", "modelled")
    assert told("MFU without waiting", text) == ("40 %", "given")
    assert told("peak in bfloat16, dense", text) == ("989 TFLOP/s", "nominal")
    assert re.findall(r"^(\S.*?) {2,}", text, re.MULTILINE)[0].startswith("gain of NVLink 4 over")
    assert told("rate of NVLink 4", text) == ("182 to 367 GB/s", "published")
    assert told("rate of a link of 25.0 GB/s", text) == ("25.0 GB/s", "given")
    # 13.48 GB x (14 + 2) moved at 4.8 TB/s.
    assert told("update and packing of gradients", text) == ("44.9 ms", "modelled")
    # 13.48 GB x 14/8 over 25 GB/s, in 515 buckets of 14 steps of 5.7 µs.
    assert told("a link of 25.0 GB/s: exchanges alone", text) == ("985 ms", "modelled")
    assert told("a link of 25.0 GB/s: step", text) == ("2.64 to 2.97 s", "modelled")


MEASURED = Calibration(
    campaign="gpu-1",
    trained=(
        Trained("bert-b8", "bert-large", "fast", flops=2.1e12, mfu=0.2, hidden=0.5),
        Trained("bert-b32", "bert-large", "fast", flops=8.4e12, mfu=0.4, hidden=None),
        Trained("gpt-b8", "gpt-medium", "fast", flops=9e12, mfu=0.3, hidden=0.6),
    ),
    links={
        "fast": Offer(
            "NVLink",
            Estimate(3e11, 3e11, "measured", "lines"),
            Estimate(3e-6, 3e-6, "measured", "lines"),
            joins=8,
            measured_ranks=2,
        ),
        "again": Offer(
            "NVLink again",
            Estimate(3e11, 3e11, "measured", "lines"),
            Estimate(3e-6, 3e-6, "measured", "lines"),
            measured_ranks=2,
        ),
    },
    compared=("fast",),
    gpus=("NVIDIA H200",),
)


def test_an_answer_says_what_it_takes_from_a_campaign_and_what_not(facts: Facts) -> None:
    words = Words(model="bert-large", gpu="h200-sxm", gpus=2, links=("fast", "pcie"))
    question = question_of(words, facts, MEASURED)
    assert list(origin_lines(question, MEASURED, "bert-large")) == [
        "From campaign gpu-1: MFU; rate, latency and overlap of NVLink.",
        "PCIe 5.0 x16 is no link of the campaign (its own for --link, of NVIDIA H200: fast, "
        "again): rate assumed, overlap assumed.",
        "Overlap of 2 cases of this model is pooled; of one alone: --case bert-b8 or "
        "--case bert-b32.",
    ]
    asked = dataclasses.replace(words, links=("pcie",), mfu=(0.4, 0.4))
    told_of_it = list(origin_lines(question_of(asked, facts, MEASURED), MEASURED, "llama-7b"))
    assert told_of_it[:2] == ["From campaign gpu-1: nothing.", "MFU is given."]
    assert len(told_of_it) == 3, "no case of this model to point at"


def mfu(batch: int, facts: Facts, model: str = "bert-large") -> Estimate:
    words = Words(model=model, batch=batch, gpu="h200-sxm", gpus=2)
    return question_of(words, facts, MEASURED).mfu


def test_mfu_of_a_batch_that_was_not_measured_is_bounded(facts: Facts) -> None:
    """Batches of 8 and 32: one of 16 takes no less than that of 8 and no more than twice that."""
    exact = mfu(32, facts)
    assert (exact.low, exact.high, exact.origin) == (0.4, 0.4, "measured")
    between = mfu(16, facts)
    assert (between.low, between.high) == pytest.approx((0.2, 0.4), rel=0.01)
    assert between.origin == "modelled" and "2.00 and 0.500 times the work" in between.basis
    below = mfu(4, facts)
    assert (below.low, below.high) == pytest.approx((0.1, 0.2), rel=0.01)
    above = mfu(128, facts)
    assert (above.low, above.high) == pytest.approx((0.4, 1.0))


def test_another_model_starts_from_the_largest_batches(facts: Facts) -> None:
    found = mfu(4, facts, "llama-7b")
    assert (found.low, found.high) == (0.3, 0.4)
    assert "bert-b32, gpt-b8 (2 records), other models" in found.basis


def test_a_control_is_no_link_to_compare(facts: Facts) -> None:
    words = Words(model="bert-large", gpu="h200-sxm", gpus=2)
    (link,) = question_of(words, facts, MEASURED).links
    assert link.name == "NVLink" and link.bytes_per_s.origin == "measured"
    named = dataclasses.replace(words, links=("again",))
    assert question_of(named, facts, MEASURED).links[0].name == "NVLink again"


def test_a_measured_link_beyond_what_was_measured_is_modelled(facts: Facts) -> None:
    words = Words(model="bert-large", gpu="h200-sxm", gpus=64, links=("fast",))
    question = question_of(words, facts, MEASURED)
    (link,) = question.links
    assert {link.bytes_per_s.origin, link.latency_s.origin} == {"modelled"}
    assert link.overlap and link.overlap.origin == "modelled"
    assert link.bytes_per_s.basis == "from 2 GPUs to rings of 8: lines"
    (first, *_) = origin_lines(question, MEASURED, "bert-large")
    assert "measured among 2 GPUs and modelled for more" in first
    wide = dataclasses.replace(words, gpus=16, gpus_per_node=16)
    with pytest.raises(ConfigError, match="does not join"):
        answer(question_of(wide, facts, MEASURED))


def test_a_link_of_another_kind_of_gpu_is_refused(facts: Facts) -> None:
    words = Words(model="bert-large", gpu="rtx-3090", gpus=2)
    with pytest.raises(ConfigError, match="another kind of GPU") as refused:
        question_of(dataclasses.replace(words, links=("fast",)), facts, MEASURED)
    assert "fast of NVIDIA H200" in str(refused.value) and "nvlink or pcie" in str(refused.value)
    own = question_of(words, facts, MEASURED).links
    assert [link.measured_ranks for link in own] == [None, None]


def test_update_and_packing_by_hand(facts: Facts) -> None:
    """28 byte of 335 million parameters and twice their 1.34 GB at 4.8 TB/s; ZeRO halves the 28."""
    words = Words(model="bert-large", gpu="h200-sxm", gpus=2)
    parameters = facts.preset("bert-large")[1].parameters
    whole = answer(question_of(words, facts, None)).update_s
    assert whole == pytest.approx((28 + 8) * parameters / 4.8e12)
    divided = answer(question_of(dataclasses.replace(words, zero=1), facts, None)).update_s
    assert divided == pytest.approx((14 + 8) * parameters / 4.8e12)
    alone = answer(question_of(dataclasses.replace(words, gpus=1), facts, None)).update_s
    assert alone == pytest.approx(28 * parameters / 4.8e12)
    # Its memory's rate is not on file.
    unknown = answer(question_of(dataclasses.replace(words, gpu="gb200"), facts, None))
    assert [line.value for line in answer_lines(unknown) if "update" in line.what] == ["not known"]


def test_one_gpu_has_nobody_to_exchange_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("bert-large", "--gpu", "h200") == 0
    text = capsys.readouterr().out
    assert told("bytes exchanged", text) == ("none", "modelled")
    assert told("NVLink 4: exchanges alone", text) == ("none", "modelled")
    assert told("NVLink 4: step", text) == ("20.0 to 30.2 ms", "modelled")
    assert told("update and packing of gradients", text) == ("1.96 ms", "modelled")
    assert told("gain of NVLink 4 over PCIe 5.0 x16", text) == ("0.0 %", "modelled")


def test_gpipe_holds_more_than_1f1b(capsys: pytest.CaptureFixture[str]) -> None:
    """16 micro-batches of a quarter of the layers, or 4 of them. A micro-batch of 4096 tokens keeps
    18 x 4096 + 8 x 11008 byte a token and layer, 21.2 GB in all layers, and logits of 524 MB: 4
    quarters on the first stage, or 16 x (a quarter and logits) on the last."""
    words = ("llama-7b", "--gpu", "h200", "--gpus", "4", "--strategy", "pipeline", "--schedule")
    for schedule, activations in (("1f1b", "21.2 GB"), ("gpipe", "93.2 GB")):
        assert whatif(*words, schedule) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert f"pipeline 4 ({schedule})" in text and f"{activations} of activations" in text
        assert "bubble 15.8 % with 16 micro-batches" in text


def test_a_model_of_which_little_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--params", "7e9", "--batch", "4", "--sequence", "2048", "--gpu", "h100-sxm")
    assert whatif(*words, "--gpus", "8,64") == 0
    text = capsys.readouterr().out
    assert "model of 7.00 billion parameters on 8 h100-sxm" in text
    assert told("shape of the model", text) == ("32 layers, 32 heads, 4096 wide", "assumed")
    assert told("vocabulary", text) == ("32,000 words", "assumed")
    assert "With more GPUs" in text
    assert [line.split()[0] for line in text.splitlines()[-2:]] == ["8", "64"]


@pytest.mark.parametrize("strategy", ["tensor=8", "pipeline=4", "tensor=2,pipeline=4"])
@pytest.mark.parametrize("params", [125e6, 1.3e9, 7e9, 13e9, 70e9, 175e9])
def test_an_assumed_shape_can_be_divided(strategy: str, params: float, facts: Facts) -> None:
    """Layers and heads are multiples of 8, and 12 x layers x width^2 is near the parameters."""
    words = Words(params=params, batch=4, sequence=2048, gpu="h200", gpus=8, strategy=strategy)
    found = question_of(words, facts, None).workload
    assert found.hidden == 128 * found.heads
    assert 12 * found.layers * found.hidden**2 == pytest.approx(params, rel=0.2)


def test_what_is_told_of_a_shape_stays(facts: Facts) -> None:
    words = Words(params=1e9, batch=1, sequence=128, gpu="h200", heads=12, layers=24)
    found = question_of(words, facts, None).workload
    assert (found.layers, found.heads, found.hidden % 12) == (24, 12, 0)
    assert question_of(dataclasses.replace(words, hidden=1536), facts, None).workload.hidden == 1536


@pytest.mark.parametrize("strategy", ["data", "best"])
def test_everything_assumed_is_said(strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one layout and of all; 9 GPUs are a node of 8 and one more."""
    words = ("mixtral-8x7b", "--gpu", "h200", "--gpus", "9", "--zero", "3", "--recompute", "full")
    assert whatif(*words, "--strategy", strategy) == 0
    text = capsys.readouterr().out
    expected = {
        "recomputation": ("full", "given"),
        "micro-batch": ("1 at a time", "assumed"),
        "bucket of gradients": ("25 MiB", "assumed"),
        "gradients can be hidden behind": ("2/3 of compute", "assumed"),
        "gradients between micro-batches": ("divided", "assumed"),
        "load of experts": ("equal", "assumed"),
        "sums in the switch of NVLink 4": ("85 % of that rate", "published"),
        "GPUs of the last node": ("1 of 8", "assumed"),
    }
    assert {line: told(line, text) for line in expected} == expected


def test_zero_says_how_often_it_exchanges(capsys: pytest.CaptureFixture[str]) -> None:
    """Four micro-batches: gathered twice and scattered once with each, 12 x 13.5 / 2 GB."""
    words = ("llama-7b", "--gpu", "h200", "--gpus", "8", "--zero", "3")
    for more, amount, times in (((), "80.9 GB", 12), (("--whole-gradients",), "60.7 GB", 9)):
        assert whatif(*words, *more) == 0
        text = capsys.readouterr().out
        assert told("bytes synchronised, each GPU", text) == (amount, "modelled")
        assert f"gathered or scattered {times} times a step" in text


def test_shares_of_a_strategy(facts: Facts) -> None:
    _, decoder = facts.preset("llama-7b")
    assert layout_of("data", 8, decoder) == Layout(8)
    assert layout_of("tensor=8,pipeline=4", 64, decoder) == Layout(2, 8, 4)
    assert layout_text(Layout(tensor=8, zero=1)) == "tensor 8, ZeRO stage 1"
    assert layout_text(Layout(2, pipeline=4, schedule="gpipe")) == "data 2 x pipeline 4 (gpipe)"


def test_the_best_layout_fits_and_is_the_fastest(facts: Facts) -> None:
    """70 billion parameters: no GPU holds the whole model, and of what fits none is faster."""
    words = Words(params=70e9, layers=80, hidden=8192, heads=64, sequence=4096, batch=2,
                  micro_batch=1, gpu="h100-sxm", gpus=64)  # fmt: skip
    question = question_of(words, facts, None)
    ways = fastest_ways(question, question.links[0], most=100)
    assert ways and all(way.memory_bytes <= 80e9 for way in ways)
    assert all(int(way.layout.tensor * way.layout.pipeline) >= 14 for way in ways)
    middles = [way.step.low + way.step.high for way in ways]
    assert middles == sorted(middles)
    first = answer(dataclasses.replace(question, layout=ways[0].layout))
    assert first.room == ways[0].room
    assert {way.room for way in ways} == {"fits", "may not fit"}
    (same,) = [over.step for over in first.over if over.link == question.links[0]]
    assert (same.low, same.high) == pytest.approx((ways[0].step.low, ways[0].step.high))


def test_no_layout_fits(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--params", "400B", "--batch", "1", "--sequence", "4096")
    assert whatif(*words, "--gpu", "rtx-4090", "--gpus", "8", "--strategy", "best") == 0
    assert "no layout fits" in capsys.readouterr().out


def test_a_cluster_waits_longer_the_larger_it_is(facts: Facts) -> None:
    question = question_of(Words(model="llama-7b", gpu="h100-sxm", gpus=8), facts, None)
    found = [each.over[0].step.high for each in at_scale(question, (8, 64, 256, 1024))]
    assert found == sorted(found)
    assert found[-1] < 1.2 * found[0]  # its gradients travel in a tenth of its compute


def test_all_strategies_and_links_on_1024_gpus_in_five_seconds(facts: Facts) -> None:
    """Every GPU on file, its links and one given, all layouts of 8 to 1,024 GPUs."""
    kinds = [kind for kind in facts.complete if facts.links.gpus.get(kind)]
    counts = [2**power for power in range(3, 11)]
    ways = []

    def sweep() -> None:
        for kind in kinds:
            for gpus in counts:
                words = Words(model="llama-7b", gpu=kind, gpus=gpus, micro_batch=1)
                question = question_of(words, facts, None)
                ways.extend(fastest_ways(question, link) for link in question.links)

    assert cpu_seconds(sweep) < 5
    assert len(ways) >= len(kinds) * len(counts)


def test_gains_of_one_machine_share_what_nobody_measured(facts: Facts) -> None:
    """Two links of one rate gain nothing over each other, whatever MFU and overlap are."""
    question = question_of(
        Words(model="bert-large", gpu="h200", gpus=8, links=("50GB/s", "400Gb/s")), facts, None
    )
    same = dataclasses.replace(question, links=(question.links[0], question.links[0]))
    assert answer(same).gains[0].gain.low == answer(same).gains[0].gain.high == 0
    apart = Estimate(0.1, 0.9, "measured", "each by itself")
    own = tuple(dataclasses.replace(link, overlap=apart) for link in same.links)
    wide = answer(dataclasses.replace(question, links=own)).gains[0].gain
    assert wide.low < 0 < wide.high


@pytest.mark.parametrize(("hidden", "ends"), [(1.25, (0.5, 1.0)), (-0.25, (-0.25, 0.5))])
def test_no_more_is_hidden_than_could_be(hidden: float, ends: tuple[float, float]) -> None:
    """Noise may make a step shorter than its compute; one over a link would be so, too."""
    own = Trained("bert-b32", "bert-large", "fast", flops=8.4e12, mfu=0.4, hidden=hidden)
    found = hidden_of([MEASURED.trained[0], own], "bert-large", "fast")
    assert found and (found.low, found.high) == ends
