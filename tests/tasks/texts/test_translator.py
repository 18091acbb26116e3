"""Translating: the cost by its definition, figures by hand, searches, and what is told."""

import numpy as np
import pytest
import torch

from cutaway.data.files import TextSource
from cutaway.data.text.pairs import Pairs, read_pairs
from cutaway.data.text.token_rows import END, PAD, START, PairBatches
from cutaway.models import Transformer, TransformerSpec, beam_search
from cutaway.tasks.texts import translator
from cutaway.tasks.texts.bleu import bleu
from cutaway.tasks.texts.translate import SourceText, sources_of
from cutaway.tasks.texts.translator import (
    pair_metrics,
    translate,
    translation_cost,
    translation_metrics,
    write_translations,
)

LINES = "".join(f"I see {i} cat{'s' * (i > 1)}.\tVeo {i} gato{'s' * (i > 1)}.\n" for i in range(1, 80))


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return read_pairs(TextSource.from_text(LINES, "cats"), "bpe-290", validation=0.2, test=0.1)


@pytest.fixture(scope="module")
def model(pairs: Pairs) -> Transformer:
    torch.manual_seed(1)
    sizes = dict(vocabulary=pairs.vocabulary, width=16, depth=2, heads=2, context=32, dropout=0.0)
    return Transformer(TransformerSpec.base(**sizes).but(start=START, end=(END,))).eval()


def test_the_cost_by_its_definition(pairs: Pairs, model: Transformer):
    """Pair by pair, without padding, token by token."""
    batch = pairs.train.batch(np.arange(6))  # in the order of the file: of different lengths
    assert (batch.source == PAD).any()
    costs, smoothed = [], []
    with torch.no_grad():
        for source, target in zip(batch.source, batch.target, strict=True):
            source, target = source[source != PAD], target[target != PAD]
            logs = model(torch.from_numpy(source)[None], torch.from_numpy(target)[None, :-1])[0].log_softmax(-1)
            right = logs[range(len(target) - 1), target[1:]]
            costs += (-right).tolist()
            smoothed += (-0.9 * right - 0.1 * logs.mean(-1)).tolist()
    assert translation_cost(model, batch, 0.0).item() == pytest.approx(np.mean(costs), rel=1e-5)
    assert translation_cost(model, batch, 0.1).item() == pytest.approx(np.mean(smoothed), rel=1e-5)


def test_the_mean_over_processes_is_the_mean_over_tokens(pairs: Pairs, model: Transformer):
    """Whose shares have different numbers of tokens."""
    whole = PairBatches(pairs.train, 6).at(3)
    shares = [PairBatches(pairs.train, 6, rank=rank, world=3).at(3) for rank in range(3)]
    costs = [translation_cost(model, share, 0.1).item() for share in shares]
    assert np.mean(costs) == pytest.approx(translation_cost(model, whole, 0.1).item(), rel=1e-5)


def test_figures_are_means_over_all_tokens(pairs: Pairs, model: Transformer):
    found = pair_metrics(model, pairs.validation)
    total = right = count = 0.0
    with torch.no_grad():
        for i in range(len(pairs.validation)):
            sides = (pairs.validation.source, pairs.validation.target)
            source, target = (torch.from_numpy(rows[i].astype(np.int64)) for rows in sides)
            logs = model(source[None], target[None, :-1])[0].log_softmax(-1)
            total -= logs[range(len(target) - 1), target[1:]].sum().item()
            right += (logs.argmax(-1) == target[1:]).sum().item()
            count += len(target) - 1
    assert found == {"loss": pytest.approx(total / count, rel=1e-5), "accuracy": pytest.approx(right / count)}
    assert pair_metrics(model, pairs.validation, len(pairs.validation)) == found
    some = pair_metrics(model, pairs.validation, 4)
    assert some != found
    assert some == pair_metrics(model, pairs.validation, 4)


def test_a_batch_changes_no_translation(pairs: Pairs, model: Transformer):
    texts = ["I see 5 cats.", "I see 1 cat.", "I", "I see 12 cats. I see 7 cats."]
    together = translate(model, pairs.tokenizer, texts)
    assert together == [translate(model, pairs.tokenizer, [text])[0] for text in texts]
    assert translate(model, pairs.tokenizer, [" I  see 5\tcats. "]) == together[:1]  # normalised, as in training
    assert translate(model, pairs.tokenizer, []) == []


def test_beams_find_what_beam_search_finds(pairs: Pairs, model: Transformer):
    ids = pairs.tokenizer.encode("I see 5 cats.").tolist()
    ((best, *_),) = beam_search(model, ids, 32, beams=3, end=END)
    assert translate(model, pairs.tokenizer, ["I see 5 cats."], beams=3) == [pairs.tokenizer.decode(best.tokens)]


def test_drawn_translations_are_repeatable(pairs: Pairs, model: Transformer):
    drawn = [translate(model, pairs.tokenizer, ["I see 5 cats."], temperature=2.0, seed=s)[0] for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(translate(model, pairs.tokenizer, ["I see"], tokens=1)[0]) <= 10


@pytest.fixture
def half_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """A translator that knows sources with an even number."""

    def fake(model: object, tokenizer: object, texts: list[str], *_: object) -> list[str]:
        known = dict(line.split("\t") for line in LINES.splitlines())
        return [known[text] if int(text.split()[2]) % 2 == 0 else "no sé" for text in texts]

    monkeypatch.setattr(translator, "translate", fake)


def test_exact_and_bleu_of_translations(pairs: Pairs, model: Transformer, half_right: None):
    found = translation_metrics(model, pairs.validation, pairs.tokenizer)
    sources = sources_of(pairs.validation, pairs.tokenizer)
    even = [int(one.source.split()[2]) % 2 == 0 for one in sources]
    assert found["exact"] == pytest.approx(np.mean(even))
    written = [one.references[0] if right else "no sé" for one, right in zip(sources, even, strict=True)]
    assert found["bleu"] == bleu(written, [one.references for one in sources])
    assert found.keys() == {"loss", "accuracy", "exact", "bleu"}


def test_samples_show_what_is_right_and_what_should_be(pairs: Pairs, model: Transformer, half_right: None):
    sources = [
        SourceText("I see 2 cats.", ["Veo 2 gatos."]),
        SourceText("I see 3 cats.", ["Veo 3 gatos.", "Tres gatos."]),
    ]
    assert write_translations(model, pairs.tokenizer, sources)["translations.txt"] == (
        "I see 2 cats.\n  → Veo 2 gatos. ✓\nI see 3 cats.\n  → no sé\n  = Veo 3 gatos.\n  = Tres gatos.\n"
    )


def test_texts_that_cannot_be_translated(pairs: Pairs, model: Transformer):
    with pytest.raises(ValueError, match="must have from 1 to 32 tokens, as in training, got 0 for ' '; give a"):
        translate(model, pairs.tokenizer, [" "])
    with pytest.raises(ValueError, match="must have from 1 to 32 tokens, as in training, got 59 for 'I see 1 cat"):
        translate(model, pairs.tokenizer, ["I see 1 cat. " * 10])
