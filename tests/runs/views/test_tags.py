"""Views of a tagger: every picture with its sentence, and what they measure."""

import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.runs.views import tags
from cutaway.tasks.subjects import subject_of


@pytest.fixture(scope="module")
def run(trained):
    return cut.load(trained("tagger"))


def test_every_view_has_a_picture_and_a_sentence(run):
    subject = subject_of(run, "They runs.")
    for view in (tags.tagged, tags.other_words, tags.word_parts, tags.letters_of_unknown_words, tags.tag_results):
        found = view(run, subject)
        for picture in found if isinstance(found, list) else [found]:
            assert picture.caption.endswith(".")
            assert picture.to_svg().startswith("<svg")


def test_what_a_tag_depends_on(run):
    """The second word is a noun or a verb by the first alone: without it, one of the two tags is a wrong guess."""
    falls = {}
    for first in ("The", "They"):
        subject = subject_of(run, f"{first} runs.")
        fall = tags._fall_when_zeroed(run.model, subject.arguments[0], slice(0, run.model.spec.inputs))
        falls[first] = fall[1, 0]
        assert abs(fall[0, 1]) < 0.5  # the first word needs no other
    assert max(falls.values()) > 0.5  # nats; certain before, a guess of two after: at least log 2
    needed = max(falls, key=falls.get)
    (picture,) = tags.other_words(run, subject_of(run, f"{needed} runs."))
    assert f"the tag of 'runs' needs '{needed}'" in picture.caption
    assert tags.other_words(run, subject_of(run, "They")) == []


def test_zeroing_nothing_changes_nothing(run):
    subject = subject_of(run, "They runs.")
    fall = tags._fall_when_zeroed(run.model, subject.arguments[0], slice(0, 0))
    np.testing.assert_allclose(fall, 0, atol=1e-5)


def test_a_word_taken_for_unknown_has_its_letters_alone(run):
    (given,) = subject_of(run, "They runs.").arguments
    unknown = tags._as_unknown(given, 1)
    assert unknown.words[0].tolist() == [given.words[0, 0].item(), 0, given.words[0, 2].item()]
    assert torch.equal(unknown.characters, given.characters)


def test_the_page_holds_them(run):
    html = cut.runs.look_page(run, "They runs.").to_html()
    for title in ("The tag of each word of your sentence", "What each tag is taken for", "Which part of a word"):
        assert title in html
