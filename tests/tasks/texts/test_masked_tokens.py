"""Masked tokens: the cost by its definition, guesses against the model's own probabilities, and what is told."""

import math

import numpy as np
import pytest
import torch

from cutaway.data.files import TextSource
from cutaway.data.text.corpus import Corpus, read_text
from cutaway.data.text.masking import MaskedBatches, Masking, every_masked_batch
from cutaway.data.text.special_tokens import encode_gaps, find_special_tokens
from cutaway.models import BERT, BERTSpec, HeadSpec
from cutaway.tasks.texts.masked_tokens import (
    fill_masks,
    masked_cost,
    masked_metrics,
    masked_samples,
    write_guesses,
)

TEXT = "".join(f"{i} the dog ate the cake and the cat ate the dog.\n" for i in range(60))


@pytest.fixture(scope="module", params=["bpe-300", "characters"])
def corpus(request: pytest.FixtureRequest) -> Corpus:
    return read_text(TextSource.from_text(TEXT), request.param, special_tokens=True)


def masking(corpus: Corpus) -> Masking:
    return Masking(find_special_tokens(corpus.tokenizer), corpus.vocabulary, 18)


def bert(corpus: Corpus, spread: float = 0.4) -> BERT:
    torch.manual_seed(1)
    sizes = dict(vocabulary=corpus.vocabulary, width=16, depth=1, heads=2, context=18)
    model = BERT(BERTSpec.bert(**sizes, head=HeadSpec("masked")))
    torch.nn.init.normal_(model.embed.weight, 0.0, spread)
    return model.eval()


def test_the_cost_of_knowing_nothing_is_log_v(corpus: Corpus):
    model = bert(corpus, 0.0)  # all tokens have one vector, and so one score
    batch = MaskedBatches(corpus.train, masking(corpus), 4).at(0)
    assert masked_cost(model, batch).item() == pytest.approx(math.log(corpus.vocabulary), rel=1e-5)


def test_only_chosen_tokens_count(corpus: Corpus):
    """Against the definition, token by token, with the logits of the whole stretch."""
    model, batch = bert(corpus), MaskedBatches(corpus.train, masking(corpus), 4).at(0)
    logs = model(torch.from_numpy(batch.tokens)).log_softmax(-1).detach()
    costs = [-logs[i, j, token].item() for (i, j), token in zip(np.argwhere(batch.chosen), batch.targets, strict=True)]
    assert len(costs) == 4 * 2  # 15 % of 16
    assert masked_cost(model, batch).item() == pytest.approx(np.mean(costs), rel=1e-5)


def test_figures_are_means_over_all_gaps(corpus: Corpus):
    model, how = bert(corpus), masking(corpus)
    found = masked_metrics(model, corpus.validation, how)
    costs, right = [], []
    for batch in every_masked_batch(corpus.validation, how, 1):
        logits = model(torch.from_numpy(batch.tokens))[torch.from_numpy(batch.chosen)].detach()
        costs += torch.nn.functional.cross_entropy(logits, torch.from_numpy(batch.targets), reduction="none").tolist()
        right += (logits.argmax(-1).numpy() == batch.targets).tolist()
    assert found == {"loss": pytest.approx(np.mean(costs), rel=1e-5), "accuracy": pytest.approx(np.mean(right))}
    assert masked_metrics(model, None, how) == {}


def test_guesses_are_the_models_own_best(corpus: Corpus):
    model, tokenizer = bert(corpus), corpus.tokenizer
    texts = ["the [MASK] ate", "the dog", "[MASK] [MASK]"]
    texts[1] = "the dog [MASK]"
    found = fill_masks(model, tokenizer, texts, count=3)
    assert [(guess.text, guess.mask) for guess in found[::3]] == [
        (texts[0], 1),
        (texts[1], 1),
        (texts[2], 1),
        (texts[2], 2),
    ]
    for text in texts:  # alone, without padding
        ids = encode_gaps(tokenizer, text)
        p = model(torch.tensor([ids])).softmax(-1)[0, [i == find_special_tokens(tokenizer).mask for i in ids]].detach()
        mine = [guess for guess in found if guess.text == text]
        expected = p.topk(3)
        assert [guess.probability for guess in mine] == pytest.approx(expected.values.flatten().tolist(), rel=1e-4)
        candidates = [tokenizer.decode([i]) for i in expected.indices.flatten().tolist()]
        assert [guess.candidate for guess in mine] == candidates


def test_a_filled_text_has_the_candidate_and_the_best_of_the_others():
    corpus = read_text(TextSource.from_text(TEXT), "characters", special_tokens=True)
    found = fill_masks(bert(corpus), corpus.tokenizer, ["the d[MASK]g [MASK]te"], count=2)
    assert [guess.mask for guess in found] == [1, 1, 2, 2]
    best = found[0].candidate, found[2].candidate
    assert found[0].filled == found[2].filled == f"the d{best[0]}g {best[1]}te"
    assert found[1].filled == f"the d{found[1].candidate}g {best[1]}te"
    assert found[3].filled == f"the d{best[0]}g {found[3].candidate}te"


def test_texts_that_cannot_be_filled(corpus: Corpus):
    model = bert(corpus)
    with pytest.raises(
        ValueError, match=r"must have a masked token, got 'the dog'; write \[MASK\] where one is missing"
    ):
        fill_masks(model, corpus.tokenizer, ["the dog"])
    with pytest.raises(ValueError, match=r"must fit into the model's context of 18 tokens, got .* for 'the dog ate"):
        fill_masks(model, corpus.tokenizer, ["the dog ate the cake and the cat ate the dog. 1 2 3 4 5 6 7 [MASK]"])


def test_samples_show_right_and_wrong_guesses():
    corpus = read_text(TextSource.from_text(TEXT), "characters", special_tokens=True)
    samples = masked_samples(corpus.validation, masking(corpus), 2)
    assert samples == masked_samples(corpus.validation, masking(corpus), 2)  # the same ones always
    assert [len(sample.chosen) for sample in samples] == [2, 2]

    class Oracle(torch.nn.Module):
        """Knows the first mask of a sample and takes every other for an x."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(()))

        def forward(self, tokens: torch.Tensor, mask: object = None, at: torch.Tensor | None = None) -> torch.Tensor:
            logits = torch.zeros(int(at.sum()), corpus.vocabulary)
            (sample,) = [sample for sample in samples if sample.ids == tokens[0].tolist()]
            logits[0, sample.truth[0]] = 9.0
            logits[1, int(corpus.tokenizer.encode("n")[0])] = 9.0
            return logits

    text = write_guesses(Oracle(), corpus.tokenizer, samples)["gaps.txt"]
    legend, first, second = text.rstrip("\n").split("\n\n———\n\n")
    assert legend.startswith("In brackets: the model's guess for a masked token")
    for shown, sample in ((first, samples[0]), (second, samples[1])):
        right, wrong = (corpus.tokenizer.decode([token]) for token in sample.truth)
        assert f"[{right.strip(' ')}]".replace("\n", "↵") in shown or right == " "
        assert f"[n, not {wrong.removeprefix(' ') or wrong}]".replace("\n", "↵") in shown
        truth = list(sample.ids)
        for place, token in zip(sample.chosen, sample.truth, strict=True):
            truth[place] = token
        assert len(shown) >= len(corpus.tokenizer.decode(truth).strip())
