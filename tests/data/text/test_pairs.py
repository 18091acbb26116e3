"""Pairs: parsed, kept together in the split, padded, and batched by length."""

import zipfile

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.files import TextSource
from cutaway.data.text.pairs import SPECIAL, group_pairs, normalise, parse_pairs, read_pairs, split_pairs
from cutaway.data.text.token_rows import END, PAD, START, PairBatches, TokenPairs, TokenRows, every_pair
from cutaway.data.text.tokenizers import Characters, train_bpe

LINES = "".join(f"I see {i} cats.\tVeo {i} gatos.\n" for i in range(200))
LETTERS = st.tuples(st.sampled_from("abcdefg"), st.sampled_from("ABCDEFG"))


def test_parsed_and_normalised():
    text = "Go.\tVe.\tCC-BY 2.0 #1\n\nGo.\tVe.\nCafe\u0301  ouvert \t Un  café\n"
    assert parse_pairs(TextSource.from_text(text)) == [("Go.", "Ve."), ("Café ouvert", "Un café")]
    assert normalise("\ta\u00a0b\n") == "a b"


@given(st.lists(LETTERS, max_size=25))
def test_groups_are_those_of_a_graph_search(pairs):
    graph = networkx.Graph()
    graph.add_edges_from((("s", a.casefold()), ("t", b.casefold())) for a, b in pairs)
    components = {node: i for i, part in enumerate(networkx.connected_components(graph)) for node in part}
    found = group_pairs(pairs)
    expected = [components["s", a.casefold()] for a, _ in pairs]
    for i in range(len(pairs)):
        for j in range(len(pairs)):
            assert (found[i] == found[j]) == (expected[i] == expected[j])


def test_no_text_is_in_two_parts(data_folder):
    pairs = parse_pairs(TextSource.from_path(data_folder / "text" / "spa-eng.zip"))
    parts = split_pairs(pairs, 0.05, 0.05)
    assert np.bincount(parts) / len(pairs) == pytest.approx([0.9, 0.05, 0.05], abs=0.005)
    for side in (0, 1):
        seen = [{pair[side].casefold() for pair, part in zip(pairs, parts) if part == number} for number in range(3)]
        assert not seen[0] & seen[1]
        assert not seen[0] & seen[2]
        assert not seen[1] & seen[2]


def test_the_split_is_the_same_for_the_same_seed():
    pairs = parse_pairs(TextSource.from_text(LINES))
    assert np.array_equal(split_pairs(pairs, 0.1, 0.1), split_pairs(pairs, 0.1, 0.1))
    assert not np.array_equal(split_pairs(pairs, 0.1, 0.1), split_pairs(pairs, 0.1, 0.1, seed=1))
    assert set(split_pairs(pairs, 0.0, 0.0)) == {0}
    assert set(split_pairs(pairs, 0.3, 0.0)) == {0, 1}
    assert set(split_pairs(pairs, 0.0, 0.3)) == {0, 2}


def test_tokens_give_back_the_pairs():
    source = TextSource.from_text(LINES, "mine")
    pairs = read_pairs(source, "bpe-280", validation=0.1, test=0.1)
    known = dict(parse_pairs(source))
    count = 0
    for part in (pairs.train, pairs.validation, pairs.open_test()):
        for i in range(len(part)):
            target = part.target[i]
            assert (target[0], target[-1]) == (START, END)
            assert known[pairs.tokenizer.decode(part.source[i])] == pairs.tokenizer.decode(target)
            count += 1
    assert count == 200
    assert pairs.splits.test_reads == 1
    assert [pairs.tokenizer.id_of(token) for token in SPECIAL] == [PAD, START, END]
    assert "mine: pairs for train 1" in pairs.summary()


def test_zip_and_cache(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "pairs.zip", "w") as archive:
        archive.writestr("_about.txt", "where from")
        archive.writestr("pairs.txt", LINES)
    first = read_pairs(tmp_path / "pairs.zip", "bpe-280")
    monkeypatch.setattr("cutaway.data.text.pairs._write", lambda *arguments: pytest.fail("was made again"))
    again = read_pairs(tmp_path / "pairs.zip", "bpe-280")
    assert np.array_equal(again.train.source.ids, first.train.source.ids)
    assert again.tokenizer.key == first.tokenizer.key


def make_rows(lengths):
    return TokenRows.from_rows([np.arange(3, 3 + n) for n in lengths])


def test_padding_by_hand():
    rows = make_rows([2, 3, 1])
    assert rows.lengths.tolist() == [2, 3, 1]
    assert rows.padded(np.array([2, 0, 1])).tolist() == [[3, 0, 0], [3, 4, 0], [3, 4, 5]]
    assert rows.padded(np.array([2])).tolist() == [[3]]  # no wider than its longest


def test_how_many_tokens_a_process_predicts():
    pairs = TokenPairs(make_rows([2, 3, 1, 4]), make_rows([3, 2, 4, 5]))
    assert pairs.batch(np.array([0, 2])).each == 2 + 3  # all target tokens but the first of each row
    assert PairBatches(pairs, 4).at(0).each == 2 + 1 + 3 + 4
    assert PairBatches(pairs, 4, rank=1, world=2).at(0).each == 5


def test_pairs_that_fit_the_context():
    pairs = TokenPairs(make_rows([2, 9, 1, 4]), make_rows([3, 2, 6, 5]))
    kept = pairs.within(5)
    assert [len(kept), kept.source.lengths.tolist(), kept.target.lengths.tolist()] == [2, [2, 4], [3, 5]]
    assert kept.source[1].tolist() == [3, 4, 5, 6]
    assert pairs.within(9) is pairs
    assert len(pairs.within(1)) == 0


def test_every_pair_once_in_each_epoch():
    lengths = np.random.default_rng(0).integers(1, 30, 96)
    ids = TokenRows.from_rows([np.full(n, i + 3) for i, n in enumerate(lengths)])
    batches = PairBatches(TokenPairs(ids, ids), batch=8)
    for _ in range(3):
        seen = np.concatenate([next(batches).source[:, 0] for _ in range(batches.per_epoch)])
        assert sorted(seen) == list(range(3, 99))


def test_batches_of_like_length_waste_little():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 60, 4000)
    pairs = TokenPairs(make_rows(lengths), make_rows(lengths))
    batches = PairBatches(pairs, batch=16)
    sorted_share = np.mean([(next(batches).target != PAD).mean() for _ in range(200)])
    drawn = [pairs.batch(random.integers(0, 4000, 16)) for _ in range(200)]
    assert sorted_share > 0.95
    assert np.mean([(batch.target != PAD).mean() for batch in drawn]) < 0.6
    # yet short and long batches come in no order
    widths = [batches.at(i).target.shape[1] for i in range(100)]
    assert abs(np.corrcoef(widths, np.arange(100))[0, 1]) < 0.4


def test_evaluation_takes_every_pair_once():
    rows = TokenRows.from_rows([np.full(i % 7 + 1, i + 3) for i in range(50)])
    found = list(every_pair(TokenPairs(rows, rows), 8))
    assert sorted(np.concatenate([batch.source[:, 0] for batch in found])) == list(range(3, 53))
    assert [len(batch.source) for batch in found] == [8] * 6 + [2]


def test_bad_pairs(tmp_path):
    with pytest.raises(ValueError, match=r"a tab between, got 'no tab' in line 2 of mine; mend that line"):
        read_pairs(TextSource.from_text("a\tb\nno tab\n", "mine"))
    with pytest.raises(ValueError, match=r"with a tab between, got 'a.t' in line 1 of mine"):
        read_pairs(TextSource.from_text("a\t\n", "mine"))
    with pytest.raises(ValueError, match="pairs must hold at least one line, got mine which is empty; give a file"):
        read_pairs(TextSource.from_text("\n\n", "mine"))
    with pytest.raises(ValueError, match=r"tokenizer must be bpe-N or the path of a tokenizer.json, got 'words'; try"):
        read_pairs(TextSource.from_text(LINES), "words")
    with pytest.raises(
        ValueError, match=r"must begin with <pad>, <start>, <end>, got ids \[None, None, None\] for them"
    ):
        read_pairs(TextSource.from_text(LINES), Characters("abc"))
    with pytest.raises(
        ValueError, match="a batch must not be larger than the data, got batch=9 for 3 pairs; try batch=3"
    ):
        PairBatches(TokenPairs(make_rows([1, 2, 3]), make_rows([1, 2, 3])), 9)


def test_a_tokenizer_of_ones_own(tmp_path):
    mine = train_bpe([LINES], 300, special=SPECIAL)
    mine.save(tmp_path)
    for given_one in (mine, str(tmp_path)):
        assert read_pairs(TextSource.from_text(LINES), given_one).tokenizer.key == mine.key


def test_too_few_to_train_on():
    with pytest.raises(ValueError, match="pairs must leave some for training, got 1 pairs in mine; use more pairs"):
        read_pairs(TextSource.from_text("a\tb", "mine"), validation=0.5, test=0.49, seed=3)
