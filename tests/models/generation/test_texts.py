"""Text in, text out: whole characters, stop strings, ends; on models whose words are known."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from cutaway.data.text.tokenizers import Bytes, Characters, train_bpe
from cutaway.models import GPT, T5, GPTSpec, generate, generate_text, stream_text
from cutaway.models.generation.texts import IncrementalText

BYTES = Bytes()


class Parrot(nn.Module):
    """Says its lines, whatever it is asked; line i for row i."""

    def __init__(self, *lines: str | list[int], tokenizer=BYTES) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.tokenizer = tokenizer
        ids = [tokenizer.encode(line).tolist() if isinstance(line, str) else line for line in lines]
        longest = max(map(len, ids))
        self.lines = torch.tensor([row + [0] * (longest - len(row)) for row in ids])

    def begin(self, prompt, tokens):
        parrot = self

        class Speech:
            text, place = prompt.tokens, 0

            def logits(self):
                said = parrot.lines[:, min(self.place, parrot.lines.shape[1] - 1)]
                return nn.functional.one_hot(said, max(257, parrot.tokenizer.vocabulary)).double()

            def append(self, tokens):
                self.text, self.place = torch.cat([self.text, tokens[:, None]], 1), self.place + 1

            def pick(self, rows):
                raise AssertionError

        return Speech()


def say(line: str, **how) -> str:
    n = len(BYTES.encode(line))
    return generate_text(Parrot(line), "go", n, temperature=0, **how)


def test_text_without_the_prompt():
    assert say(" on and on") == " on and on"


def test_pieces_are_whole_characters():
    line = "naïve €5 👍🏽 end"
    pieces = list(stream_text(Parrot(line), "go", len(BYTES.encode(line)), temperature=0))
    assert "".join(pieces) == line
    assert "👍" in pieces, "four bytes in one piece"
    assert all("\ufffd" not in piece and piece for piece in pieces)


@given(st.text(max_size=12))
def test_any_text_comes_out_as_it_is(text: str):
    if not text or "\ufffd" in text or not text.isprintable():
        return
    for tokenizer in (BYTES, train_bpe(["to be or not to be — naïve €"], 300)):
        incremental = IncrementalText(tokenizer)
        pieces = [incremental.add(int(i)) for i in tokenizer.encode(text)]
        assert "".join([*pieces, incremental.finish()]) == text
        assert all("\ufffd" not in piece for piece in pieces)


def test_half_a_character_at_the_end_is_shown_as_such():
    half = BYTES.encode("ab€").tolist()[:-1]
    pieces = list(stream_text(Parrot(half), "go", len(half), temperature=0))
    assert pieces == ["a", "b", "\ufffd"]


def test_bytes_that_never_become_a_character():
    assert generate_text(Parrot([0x80, 0x80, ord("a")]), "go", 3, temperature=0) == "\ufffd\ufffda"


@pytest.mark.parametrize(
    ("line", "stop", "expected"),
    [
        ("one\n\ntwo", "\n\n", "one"),
        ("one\n\ntwo", ("\n\n", "ne"), "o"),
        ("one\n two", "\n\n", "one\n two"),
        ("aab", "ab", "a"),
        ("aaab", ("aab",), "a"),
        ("abcabd", "abd", "abc"),
        ("héé", "é", "h"),
        ("stop", "stop", ""),
        ("sto", "stop", "sto"),
        ("x END", "go", "x END"),
    ],
)
def test_stop_strings(line: str, stop, expected: str):
    """The text ends before the first of them; one that is only half there is text. The prompt does not count."""
    assert say(line, stop=stop) == expected
    n = len(BYTES.encode(line))
    pieces = list(stream_text(Parrot(line), "go", n, temperature=0, stop=stop))
    assert "".join(pieces) == expected


@given(st.text("ab", max_size=12), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3))
def test_no_piece_ever_shows_part_of_a_stop_string(text: str, stops: list[str]):
    incremental = IncrementalText(BYTES, stop=stops)
    shown = ""
    for i in BYTES.encode(text):
        shown += incremental.add(int(i))
        if incremental.stopped:
            break
    shown += incremental.finish()
    # At the first place where a stop string is complete, the text ends before the earliest one in it.
    complete = next((text[:n] for n in range(len(text) + 1) if any(s in text[:n] for s in stops)), text)
    ends = [complete.find(s) for s in stops if s in complete]
    assert shown == complete[: min(ends, default=len(complete))]


def test_generation_ends_with_the_stop_string():
    model = Parrot("one. two three four five")
    steps = []
    model.register_forward_hook(lambda *_: None)
    speech = model.begin

    def counted(prompt, tokens):
        decoder = speech(prompt, tokens)
        logits = decoder.logits
        decoder.logits = lambda: steps.append(1) or logits()
        return decoder

    model.begin = counted
    assert generate_text(model, "go", 20, temperature=0, stop=".") == "one"
    assert len(steps) == 4


def test_a_batch_of_texts():
    model = Parrot("one.two", "thre.e.", "four...")
    texts = generate_text(model, ["a", "bc", "d"], 7, temperature=0, stop=".")
    assert texts == ["one", "thre", "four"]
    assert generate_text(model, ["a", "bc", "d"], 7, temperature=0) == ["one.two", "thre.e.", "four..."]
    assert isinstance(generate_text(Parrot("x"), ["a"], 1, temperature=0), list)


def test_end_tokens_are_no_text():
    model = Parrot([*b"hi", 256, *b"more"])
    model.lines = model.lines.clone()
    assert generate_text(model, "go", 7, temperature=0, end=256) == "hi"
    assert list(stream_text(model, "go", 7, temperature=0, end=[256])) == ["h", "i"]


def test_ends_of_the_spec():
    torch.manual_seed(0)
    model = GPT(GPTSpec.gpt2(vocabulary=256, width=12, depth=1, heads=3, context=16)).eval()
    model.tokenizer = BYTES
    free = generate(model, [65], 6, temperature=0)[0]
    ended = GPT(model.spec.but(end=(free[3],))).eval()
    ended.load_state_dict(model.state_dict())
    ended.tokenizer = BYTES
    short = generate_text(ended, "A", 6, temperature=0)
    whole = generate_text(ended, "A", 6, temperature=0, end=())
    assert whole == generate_text(model, "A", 6, temperature=0)
    assert whole.startswith(short)
    assert len(short) < len(whole)


def test_text_equals_tokens():
    """The same draws by the token interface, decoded."""
    torch.manual_seed(0)
    tokenizer = Characters("abcdefgh ")
    model = GPT(vocabulary=9, width=12, depth=2, heads=3, context=16)
    for p in model.parameters():
        nn.init.normal_(p, std=0.3)
    prompts = ["ab", "c", "head"]
    texts = generate_text(model, prompts, 20, tokenizer=tokenizer, temperature=1.0, seed=3)
    rows = generate(model, [tokenizer.encode(p).tolist() for p in prompts], 20, temperature=1.0, seed=3)
    assert [p + t for p, t in zip(prompts, texts)] == [tokenizer.decode(row) for row in rows]
    assert "".join(stream_text(model, "ab", 20, tokenizer=tokenizer, temperature=1.0, seed=3)) == texts[0]


def test_beams_in_text():
    torch.manual_seed(0)
    tokenizer = Characters("abcdefgh ")
    model = GPT(vocabulary=9, width=12, depth=2, heads=3, context=16)
    text = generate_text(model, "ab", 5, tokenizer=tokenizer, beams=3)
    rows = generate(model, tokenizer.encode("ab").tolist(), 5, beams=3)
    assert "ab" + text == tokenizer.decode(rows[0])


def test_an_encoder_decoder_answers_in_text():
    torch.manual_seed(0)
    tokenizer = Characters("abcdefgh ")
    model = T5(vocabulary=9, width=12, depth=1, heads=3)
    rows = generate(model, tokenizer.encode("cab").tolist(), 5, temperature=0)
    assert generate_text(model, "cab", 5, tokenizer=tokenizer, temperature=0) == tokenizer.decode(rows[0])
    assert "".join(stream_text(model, "cab", 5, tokenizer=tokenizer, temperature=0)) == tokenizer.decode(rows[0])
    assert generate_text(model, "cab", 5, tokenizer=tokenizer, beams=2) == tokenizer.decode(
        generate(model, tokenizer.encode("cab").tolist(), 5, beams=2)[0]
    )


def test_a_tokenizer_that_drops_the_first_space():
    """Pieces of SentencePiece begin with their space, which is lost at the start of a text only."""
    import tokenizers as hf

    from cutaway.data.text.tokenizers import Tokenizer

    vocabulary = {"▁": 0, "a": 1, "b": 2, "▁a": 3, "▁b": 4}
    inner = hf.Tokenizer(hf.models.BPE(vocabulary, [("▁", "a"), ("▁", "b")]))
    inner.normalizer = hf.normalizers.Sequence([hf.normalizers.Prepend("▁"), hf.normalizers.Replace(" ", "▁")])
    inner.decoder = hf.decoders.Sequence(
        [hf.decoders.Replace("▁", " "), hf.decoders.Fuse(), hf.decoders.Strip(" ", 1, 0)]
    )
    tokenizer = Tokenizer(inner)
    model = Parrot([4, 1, 3], tokenizer=tokenizer)
    assert tokenizer.encode("a b").tolist() == [3, 4]
    assert list(stream_text(model, "a b", 3, temperature=0)) == [" b", "a", " a"]


def test_marks_around_a_prompt_are_used():
    class Marked(Bytes):
        def encode_whole(self, text: str):
            return [7, *self.encode(text)]

    model = Parrot("x", tokenizer=Marked())
    seen = []
    speech = model.begin
    model.begin = lambda prompt, tokens: seen.append(prompt.tokens.tolist()) or speech(prompt, tokens)
    generate_text(model, "A", 1, temperature=0)
    assert seen == [[[7, 65]]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: generate_text(GPT(vocabulary=9, width=12, depth=1, heads=3, context=8), "a"),
            "text needs a tokenizer, got a model without one; pass tokenizer=, or set model.tokenizer",
        ),
        (
            lambda: generate_text(GPT(vocabulary=9, width=12, depth=1, heads=3, context=8), "a", tokenizer=BYTES),
            "must fit the model's vocabulary of 9, got one of 256; use the tokenizer that the model was trained with",
        ),
        (lambda: generate_text(Parrot("x"), ""), "a prompt must hold at least one token, got ''; begin with a word"),
        (lambda: stream_text(Parrot("x"), "a", stop=("b", "")), "a stop string must have a character, got ''; leave"),
        (lambda: stream_text(Parrot("x"), "a", 0), "tokens must be above 0, got 0"),
    ],
)
def test_messages(call, message: str):
    with pytest.raises(ValueError, match=message):
        call()
