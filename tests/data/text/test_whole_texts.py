"""Whole texts between special tokens."""

from tiny_bases import word_tokenizer

from cutaway.data.text.whole_texts import TextFrame, encode_whole_texts, text_frame


def test_a_text_stands_between_its_special_tokens_and_is_cut_inside_them():
    tokenizer = word_tokenizer()
    cls, sep = tokenizer.id_of("[CLS]"), tokenizer.id_of("[SEP]")
    assert text_frame(tokenizer) == TextFrame((cls,), (sep,))
    found = encode_whole_texts(tokenizer, ["the film", "the film was fine and so warm", ""], 5)
    the, film, was = (tokenizer.id_of(word) for word in ("the", "film", "was"))
    assert [row.tolist() for row in map(found.tokens.__getitem__, range(3))] == [
        [cls, the, film, sep],
        [cls, the, film, was, sep],
        [cls, sep],
    ]
    assert found.cut == 1


def test_a_tokenizer_without_a_frame_has_none():
    tokenizer = word_tokenizer()
    tokenizer.inner.post_processor = None
    assert text_frame(tokenizer).before == (tokenizer.id_of("[CLS]"),), "our own marks are known"
