"""Where tokens stand, and what is said to input that is none."""

import pytest
import torch

from cutaway.models.transformers.token_inputs import (
    expect_real,
    expect_segments,
    expect_tokens,
    real_positions,
    segment_positions,
)


def test_positions_count_real_tokens():
    mask = torch.tensor([[False, False, True, True, True], [True, True, True, False, False]])
    assert real_positions(mask)[0, 2:].tolist() == [0, 1, 2]
    assert real_positions(mask)[1, :3].tolist() == [0, 1, 2]


def test_positions_start_again_with_each_document():
    segments = torch.tensor([[5, 5, 5, 0, 0, 1, 1]])
    assert segment_positions(segments).tolist() == [[0, 1, 2, 0, 1, 0, 1]]


def test_positions_of_documents_with_padding():
    segments = torch.tensor([[1, 1, 1, 2, 2, 2]])
    mask = torch.tensor([[False, True, True, True, False, True]])
    positions = segment_positions(segments, mask)
    assert positions[mask].tolist() == [0, 1, 0, 1]


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: expect_tokens(torch.ones(2, 3)),
            r"tokens must be integers, got torch.float32; convert them with tokens",
        ),
        (lambda: expect_tokens(torch.ones(2, 3) > 0), "tokens must be integers, got torch.bool"),
        (
            lambda: expect_tokens(torch.ones(3).long()),
            r"must have shape \(batch, length\), got \(3,\); add a batch axis",
        ),
        (
            lambda: expect_tokens(torch.ones(1, 9).long(), 8),
            "the model's context is 8 tokens, got 9; shorten the input",
        ),
        (lambda: expect_tokens(torch.ones(1, 4).long(), 8, 5), "the model's context is 8 tokens, got 5 . 4; shorten"),
        (
            lambda: expect_real(torch.ones(2, 3), torch.ones(2, 3).long()),
            "a mask must be boolean, True at real tokens, got torch.float32; use mask.bool",
        ),
        (
            lambda: expect_real(torch.ones(2, 4) > 0, torch.ones(2, 3).long()),
            r"a mask must have the tokens' shape \(2, 3\), got \(2, 4\)",
        ),
        (
            lambda: expect_segments(torch.ones(2, 3), torch.ones(2, 3).long()),
            "segments must be integers, got torch.float32",
        ),
        (
            lambda: expect_segments(torch.ones(2, 4).long(), torch.ones(2, 3).long()),
            r"segments must have the tokens' shape \(2, 3\), got \(2, 4\); give one number",
        ),
    ],
)
def test_messages(call, message: str):
    with pytest.raises(ValueError, match=message):
        call()
