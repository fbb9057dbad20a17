"""Sizes of decoders, and the memory that they take, against sums done by hand."""

from typing import Any

import pytest

from commwall.schema.inference import (
    DECODERS,
    InferenceCase,
    cache_bytes,
    needed_bytes,
    read_bytes,
    why_uncuttable,
)
from commwall.schema.units import GB
from commwall.schema.volumes import token_sent_bytes


def case(preset: str, **changes: Any) -> InferenceCase:
    sizes = {"batch": 1, "prompt_tokens": 1000, "generated_tokens": 24}
    return InferenceCase(preset=preset, **(sizes | changes))


@pytest.mark.parametrize("preset", DECODERS)
def test_parameters_are_those_of_the_shapes(preset: str) -> None:
    size = DECODERS[preset]
    assert size.cut_parameters + size.whole_parameters == size.parameters


def test_published_models_have_their_published_size() -> None:
    assert DECODERS["8b"].parameters == 8_030_261_248
    assert DECODERS["70b"].parameters == 70_553_706_496


def test_cache_of_the_70b_decoder() -> None:
    # 80 layers of keys and values of 8 heads of 128 in 2 byte: 327,680 byte a token.
    assert cache_bytes(case("70b"), 1) == 1024 * 327_680
    assert cache_bytes(case("70b", batch=32), 2) == 16 * 1024 * 327_680


def test_a_token_reads_all_but_the_embedding() -> None:
    size, embedding = DECODERS["8b"], 128_256 * 4096
    weights = 2 * (size.parameters - embedding)
    assert read_bytes(case("8b"), 1) == weights + cache_bytes(case("8b"), 1)


def test_70b_fits_two_gpus_of_140_gb_and_not_one() -> None:
    assert needed_bytes(case("70b"), 2) < 80 * GB
    assert needed_bytes(case("70b"), 1) > 140 * GB


def test_bytes_of_a_token_on_two_ranks() -> None:
    # 2 x 80 all-reduces of 8,192 values, and half of 128,256 scores, in 2 byte.
    assert token_sent_bytes(case("70b"), 2) == 2 * (160 * 8192 + 64_128)
    assert token_sent_bytes(case("70b", batch=32), 2) == 32 * token_sent_bytes(case("70b"), 2)
    assert token_sent_bytes(case("70b"), 1) == 0


def test_what_ranks_cannot_share() -> None:
    assert why_uncuttable(case("8b"), 8) is None
    assert why_uncuttable(case("8b"), 16) == "8 heads of keys cannot be dealt out to 16 ranks"
