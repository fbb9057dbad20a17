"""The models are the ones they are called: parameters, outputs, causality, memory."""

import math
import statistics
import typing
from collections.abc import Iterator
from itertools import pairwise

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from commwall.schema.case import MODELS, ModelName, TrainingCase, Windows
from commwall.workers.legs import Workload
from commwall.workers.models import FAMILIES, gpt, resnet, transformer_xl, unet3d, vocabulary

PUBLISHED = {
    ("bert", "large"): 335_174_458,
    ("gpt", "small"): 124_439_808,
    ("gpt", "medium"): 354_823_168,
    ("resnet", "50"): 25_557_032,
    ("resnet", "152"): 60_192_808,
    ("resnet", "next-101-32x8d"): 88_791_336,
    ("swin", "tiny"): 28_288_354,
    ("transformer_xl", "base"): 151_107_538,
    ("unet3d", "paper"): 19_069_955 + 2_336,  # its batch norms have two numbers a channel
    ("vit", "base-16"): 86_567_656,
    ("vit", "large-16"): 304_326_632,
}
PRESETS = [(name, preset) for name, family in MODELS.items() for preset in family.presets]
TINY = transformer_xl.Preset(2, 24, 3, 32, (10, 16, 40), division=2, parameters=0)
BATCH, LENGTH = 2, 5


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """The models are small, and other tests need the other cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def case(model: ModelName, precision: str) -> TrainingCase:
    length = 16 if MODELS[model].samples == "sequence" else None
    windows = Windows(full_s=1, other_s=1, min_steps=1, warmup_max_s=1)
    return TrainingCase(
        model=model,
        preset="demo",
        batch_per_gpu=2,
        sequence_length=length,
        precision=precision,
        dataset_samples=1,
        windows=windows,
    )


def workload(model: ModelName, precision: str = "float32") -> Workload:
    return Workload(case(model, precision), torch.device("cpu"), rank=0)


# All families ------------------------------------------------------------------------------


def test_schema_and_workers_know_the_same_families() -> None:
    assert tuple(FAMILIES) == tuple(MODELS) == typing.get_args(ModelName)
    for name, family in FAMILIES.items():
        assert tuple(family.PRESETS) == MODELS[name].presets


@pytest.mark.parametrize(("model", "preset"), PRESETS)
def test_a_preset_has_the_parameters_it_says(model: str, preset: str) -> None:
    with torch.device("meta"):
        built = FAMILIES[model].build(preset)
    counted = sum(p.numel() for p in built.parameters() if p.requires_grad)
    expected = FAMILIES[model].PRESETS[preset].parameters
    assert counted == expected == PUBLISHED.get((model, preset), expected)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("model", MODELS)
def test_a_demo_trains_and_repeats_itself(model: ModelName, precision: str) -> None:
    runs = []
    for _ in range(2):
        work = workload(model, precision)
        losses = []
        for _ in range(4):
            work.step(work.module)
            losses.append(float(work.loss))
        runs.append(losses)
    assert runs[0] == runs[1]
    assert all(map(math.isfinite, runs[0]))
    assert runs[0][-1] < runs[0][0]
    assert all(p.grad is not None for p in work.module.parameters())


@pytest.mark.parametrize("model", MODELS)
def test_dropout_is_off(model: str) -> None:
    built = FAMILIES[model].build("demo")
    drops = [m for m in built.modules() if "Drop" in type(m).__name__]
    assert built.training
    assert all(getattr(m, "p", getattr(m, "drop_prob", None)) == 0 for m in drops)


@pytest.mark.parametrize("model", ["resnet", "swin", "vit"])
def test_images_and_convolutions_are_channels_last(model: ModelName) -> None:
    work = workload(model)
    convolutions = [m.weight for m in work.module.modules() if isinstance(m, nn.Conv2d)]
    assert convolutions
    for tensor in (*convolutions, work._batch["images"]):
        assert tensor.is_contiguous(memory_format=torch.channels_last)


# ResNet ------------------------------------------------------------------------------------


def test_resnet_50_is_laid_out_as_in_the_paper() -> None:
    with torch.device("meta"):
        built = resnet.build("50")
        shapes = {}
        for name in ("layer1", "layer2", "layer3", "layer4"):
            getattr(built, name).register_forward_hook(
                lambda _, __, out, name=name: shapes.update({name: tuple(out.shape[1:])})
            )
        scores = built.logits(torch.empty(2, 3, 224, 224))
    assert scores.shape == (2, 1000)
    assert shapes == {
        "layer1": (256, 56, 56),
        "layer2": (512, 28, 28),
        "layer3": (1024, 14, 14),
        "layer4": (2048, 7, 7),
    }
    strides = [built.get_submodule(f"layer2.0.conv{n}").stride for n in (1, 2, 3)]
    assert strides == [(1, 1), (2, 2), (1, 1)]


def test_resnet_50_computes_what_torchvision_computes() -> None:
    reason = "torchvision is not installed here; equality is shown where it is"
    models = pytest.importorskip("torchvision.models", reason=reason)
    theirs = models.resnet50().to(memory_format=torch.channels_last).train()
    ours = resnet.build("50")
    missing = ours.load_state_dict(theirs.state_dict(), strict=True)
    assert not missing.missing_keys
    batch = resnet.batch("50", (2,), torch.Generator().manual_seed(3))
    expected = theirs(batch["images"])
    torch.testing.assert_close(ours.logits(batch["images"]), expected, rtol=1e-4, atol=1e-4)
    nn.functional.cross_entropy(expected, batch["labels"]).backward()
    ours(**batch).backward()
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(
            ours.get_parameter(name).grad, parameter.grad, rtol=1e-3, atol=1e-4, msg=name
        )


# GPT ---------------------------------------------------------------------------------------


def test_gpt_sees_what_came_before_and_nothing_later() -> None:
    torch.manual_seed(5)
    built = gpt.Decoder(gpt.Preset(40, 16, 2, 2, 12, parameters=0)).double()
    text = torch.randint(40, (1, 6), generator=torch.Generator().manual_seed(7))
    states = gpt_states(built, text)
    for place in range(6):
        changed = text.clone()
        changed[0, place] = (changed[0, place] + 1) % 40
        same = (gpt_states(built, changed) == states).all(dim=-1)[0].tolist()
        assert same == [True] * place + [False] * (6 - place)


def gpt_states(built: gpt.Decoder, text: torch.Tensor) -> torch.Tensor:
    states = built.embed(text)
    later = built.hide_later(states)
    for layer in built.layers:
        states = layer(states, src_mask=later, is_causal=True)
    return states


# 3D U-Net ----------------------------------------------------------------------------------


def test_unet_tells_every_voxel_at_full_resolution() -> None:
    with torch.device("meta"):
        built = unet3d.build("paper")
        shapes = []
        for level in (*built.down, *built.up):
            level.register_forward_hook(lambda _, __, out: shapes.append(tuple(out.shape[1:3])))
        scores = built.scores(torch.empty(1, 3, 64, 64, 64))
    assert scores.shape == (1, 3, 64, 64, 64)
    assert shapes == [(64, 64), (128, 32), (256, 16), (512, 8), (256, 16), (128, 32), (64, 64)]


# Transformer-XL ----------------------------------------------------------------------------


def txl_parameters(size: transformer_xl.Preset, layers: int) -> int:
    """The count from the shapes alone, term by term as the docstrings give it."""
    d, f, ends = size.hidden, size.inner, size.cluster_ends
    layer = 5 * d * d + 2 * d * f + f + d + 4 * d
    widths = [d // size.division**c for c in range(len(ends))]
    sizes = [end - begin for begin, end in pairwise((0, *ends))]
    vectors = sum(s * w for s, w in zip(sizes, widths, strict=True))
    projections = d * sum(widths) if size.division > 1 else 0
    words = vectors + sum(sizes) + (len(ends) - 1) * (d + 1) + projections
    return layers * layer + 2 * d + words


@pytest.mark.parametrize("preset", MODELS["transformer_xl"].presets)
def test_txl_parameters_follow_from_the_formula(preset: str) -> None:
    size = transformer_xl.PRESETS[preset]
    assert txl_parameters(size, size.layers) == size.parameters


def test_txl_parameters_agree_with_the_paper_where_it_agrees_with_itself() -> None:
    base, large = (transformer_xl.PRESETS[name] for name in ("base", "large"))
    assert round(txl_parameters(base, 16) / 1e6) == 151
    assert round(txl_parameters(large, 16) / 1e6) == 257
    assert round(txl_parameters(large, 18) / 1e6) == 284


@pytest.fixture
def txl() -> transformer_xl.TransformerXL:
    torch.manual_seed(5)
    built = transformer_xl.TransformerXL(TINY).double()
    for parameter in built.parameters():
        nn.init.normal_(parameter, std=0.3)  # so that every term weighs
    return built


def words(length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randint(TINY.cluster_ends[-1], (BATCH, length), generator=generator)


def memory(length: int) -> torch.Tensor:
    shape = (TINY.layers, BATCH, length, TINY.hidden)
    return torch.randn(shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


def test_txl_is_causal_and_sees_all_that_came_before(txl: transformer_xl.TransformerXL) -> None:
    text = words(LENGTH)
    before = txl.states(text, memory(LENGTH))[-1]
    for changed in range(LENGTH):
        other = text.clone()
        other[:, changed] = (other[:, changed] + 1) % TINY.cluster_ends[-1]
        moved = (txl.states(other, memory(LENGTH))[-1] - before).abs().amax(dim=(0, 2))
        assert (moved[:changed] == 0).all()
        assert (moved[changed:] > 1e-9).all()


def test_txl_memory_continues_the_text(txl: transformer_xl.TransformerXL) -> None:
    text, none = words(2 * LENGTH), memory(0)
    whole = txl.states(text, none)[-1]
    first = txl.states(text[:, :LENGTH], none)
    kept = torch.stack(first[:-1])
    second = txl.states(text[:, LENGTH:], kept)[-1]
    torch.testing.assert_close(second, whole[:, LENGTH:])
    alone = txl.states(text[:, LENGTH:], none)[-1]
    assert (alone - second).abs().amax() > 1e-3


@pytest.mark.parametrize("kept", [LENGTH - 2, LENGTH, LENGTH + 2])
def test_txl_overwrites_its_memory_with_the_latest_states(
    txl: transformer_xl.TransformerXL, kept: int
) -> None:
    text, old = words(LENGTH), memory(kept)
    expected = torch.cat((old, torch.stack(txl.states(text, old)[:-1])), dim=2)[:, :, LENGTH:]
    address, new = old.data_ptr(), old
    targets = vocabulary.sort_targets(text.flatten(), TINY.cluster_ends)
    txl(text, new, **targets).backward()
    torch.testing.assert_close(new, expected.detach())
    assert new.data_ptr() == address
    assert not new.requires_grad


def test_restart_forgets_the_memory() -> None:
    work = workload("transformer_xl")
    first = float(work.forward_backward(work.module))
    second = float(work.forward_backward(work.module))
    work.restart()
    assert float(work.forward_backward(work.module)) == first != second


@pytest.mark.parametrize(("length", "kept"), [(1, 0), (4, 0), (1, 3), (4, 4), (3, 6)])
def test_shift_moves_each_distance_to_its_key(length: int, kept: int) -> None:
    n = kept + length
    scores = torch.randn(2, 3, length, n, generator=torch.Generator().manual_seed(1))
    moved = transformer_xl.shift(scores)
    for row in range(length):
        for key in range(kept + row + 1):
            distance = kept + row - key
            assert torch.equal(moved[..., row, key], scores[..., row, n - 1 - distance])


def test_attention_is_the_papers_sum(txl: transformer_xl.TransformerXL) -> None:
    """Against the four terms of section 3.3, one pair of tokens at a time."""
    states, old = memory(LENGTH)[0], memory(3)[1]
    waves = transformer_xl._waves(LENGTH + 3, states)
    layer = txl.layers[0].attention
    found = layer(states, old, waves, txl.biases)
    context = torch.cat((old, states), dim=1)
    width = TINY.hidden // TINY.heads
    to_key, to_value = layer.key_value.weight.chunk(2)
    expected = torch.zeros_like(found)
    for b, h, i in [(b, h, i) for b in range(BATCH) for h in range(TINY.heads) for i in range(5)]:
        own = slice(h * width, (h + 1) * width)
        query, (u, v) = layer.query.weight[own] @ states[b, i], txl.biases[:, h, 0]
        seen = range(3 + i + 1)
        keys = [to_key[own] @ context[b, j] for j in seen]
        distances = [layer.distance.weight[own] @ waves[-1 - (3 + i - j)] for j in seen]
        scores = [(query + u) @ k + (query + v) @ r for k, r in zip(keys, distances, strict=True)]
        weights = (torch.stack(scores) / width**0.5).softmax(dim=0)
        values = torch.stack([to_value[own] @ context[b, j] for j in seen])
        expected[b, i, own] = weights @ values
    torch.testing.assert_close(found, layer.output(expected))


def test_waves_encode_the_distance() -> None:
    waves = transformer_xl._waves(4, torch.empty(6))
    farthest = [math.sin(3), math.sin(3 / 10000 ** (2 / 6)), math.sin(3 / 10000 ** (4 / 6))]
    torch.testing.assert_close(waves[0, :3], torch.tensor(farthest))
    torch.testing.assert_close(waves[-1], torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))


# Vocabulary --------------------------------------------------------------------------------


@pytest.mark.parametrize("division", [1, 2])
def test_word_probabilities_sum_to_one(division: int) -> None:
    torch.manual_seed(2)
    ends = (10, 16, 40)
    words_of = vocabulary.TiedVocabulary(12, ends, division).double()
    hidden = torch.randn(1, 12, dtype=torch.float64)
    losses = []
    for word in range(ends[-1]):
        first, *rare = vocabulary.sort_targets(torch.tensor([word]), ends).values()
        losses.append(words_of.loss(hidden, first, rare).item())
    assert math.isclose(sum(math.exp(-loss) for loss in losses), 1.0, rel_tol=1e-9)
    assert statistics.stdev(losses) > 0.1


@pytest.mark.parametrize("division", [1, 2])
def test_embedding_takes_each_word_from_its_cluster(division: int) -> None:
    ends = (10, 16, 40)
    words_of = vocabulary.TiedVocabulary(12, ends, division)
    for word, cluster, row in [(0, 0, 0), (9, 0, 9), (10, 1, 0), (15, 1, 5), (39, 2, 23)]:
        expected = words_of.vectors[cluster][row]
        if division > 1:
            expected = words_of.projections[cluster] @ expected
        found = words_of.embed(torch.tensor([[word]]))[0, 0]
        torch.testing.assert_close(found, expected)


def test_a_batch_follows_zipf_and_the_next_word_is_the_target() -> None:
    batch = transformer_xl.batch("demo", (64, 128), torch.Generator().manual_seed(4))
    ends = transformer_xl.PRESETS["demo"].cluster_ends
    drawn = batch["words"]
    assert drawn.min() == 0
    assert drawn.max() < ends[-1]
    common = float((drawn < ends[0]).float().mean())
    assert abs(common - math.log(ends[0] + 1) / math.log(ends[-1])) < 0.02
    restored = batch["first"].clone()
    for name, begin in (("rare_1", ends[0]), ("rare_2", ends[1])):
        tokens, numbers = batch[name]
        restored[tokens] = numbers + begin
    assert torch.equal(restored.view(64, 128)[:, :-1], drawn[:, 1:])
