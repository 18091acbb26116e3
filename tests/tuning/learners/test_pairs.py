"""Costs and metrics of pairs by the vectors of a model, beside sentence-transformers and cases by hand."""

import numpy as np
import pytest
import torch

from cutaway.data.labelled.text_pairs import PairRows
from cutaway.data.text.special_tokens import SPECIAL_TOKENS, frame
from cutaway.data.text.tokenizers import Bytes
from cutaway.hub import save_pretrained
from cutaway.models import BERT, BERTSpec, SentenceSpec
from cutaway.tasks.texts.pairs import pair_metrics
from cutaway.tuning.learners.pairs import EncodedPairs, pair_cost, pair_vectors

FIRSTS = ["one", "a second one", "three", "and four"]
SECONDS = ["uno", "otro segundo", "tres", "y cuatro"]
NEGATIVES = ["no", "not this", "nor that", "never"]


@pytest.fixture
def model():
    torch.manual_seed(0)
    spec = BERTSpec.bert(vocabulary=260, width=12, depth=2, heads=3, context=32)
    model = BERT(spec.but(sentence=SentenceSpec(context=32)))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    model.tokenizer = frame(Bytes(SPECIAL_TOKENS))
    return model.eval()


@pytest.mark.parametrize("kind", ["pairs", "negatives", "scores"])
def test_the_cost_is_that_of_sentence_transformers(model, kind, tmp_path):
    peer = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import losses

    save_pretrained(model, tmp_path)
    theirs = peer.SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True)
    columns = [FIRSTS, SECONDS, *([NEGATIVES] if kind == "negatives" else [])]
    features = [theirs.tokenize(texts) for texts in columns]
    scores = np.array([0.1, 0.9, 0.5, 0.3]) if kind == "scores" else None
    rows = PairRows(FIRSTS, SECONDS, NEGATIVES if kind == "negatives" else None, scores)
    pairs = EncodedPairs.of(model, rows)
    found = pair_cost(model, np.arange(4), pairs, 20.0)
    if kind == "scores":
        expected = losses.CosineSimilarityLoss(theirs)(features, torch.tensor(scores).float())
    else:
        expected = losses.MultipleNegativesRankingLoss(theirs)(features, None)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    found.backward()
    expected.backward()
    ours, peers = (
        model.blocks[0].mlp.up.weight.grad,
        theirs[0].auto_model.encoder.layer[0].intermediate.dense.weight.grad,
    )
    torch.testing.assert_close(ours, peers.T, atol=1e-4, rtol=1e-3)


def test_the_same_text_again_is_no_wrong_answer(model):
    pairs = EncodedPairs.of(model, PairRows(["a", "b", "c"], ["same", "same", "other"]))
    alone = EncodedPairs.of(model, PairRows(["a", "c"], ["same", "other"]))
    twice = pair_cost(model, np.array([0, 1, 2]), pairs, 20.0) * 3
    parts = pair_cost(model, np.array([0, 2]), pairs, 20.0) * 2
    torch.testing.assert_close(parts, pair_cost(model, np.arange(2), alone, 20.0) * 2)
    assert twice > parts  # one pair more, and nobody is told from the text it shares


def test_metrics_count_each_second_text_once(model):
    rows = PairRows(["a", "b", "c"], ["same", "same", "other"])
    found = pair_metrics(*pair_vectors(model, EncodedPairs.of(model, rows)), rows, 20.0)
    assert found["recall@5"] == 1  # of two candidates
    vectors, candidates = model.embed(["a", "b", "c"]), model.embed(["same", "other"])
    logits = 20 * (vectors @ candidates.T)
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 0, 1]))
    assert found["loss"] == pytest.approx(float(expected), rel=1e-4)
