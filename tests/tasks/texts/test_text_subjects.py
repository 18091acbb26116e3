"""Subjects of a look at a classifier."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.tasks.texts.classify import class_probabilities, encoder_of
from cutaway.tasks.texts.text_subjects import classified_subject, least_sure


def test_a_subject_is_what_the_model_would_be_given(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    text = "a bad film number 3"
    subject = classified_subject(run, text, "a text")
    p = class_probabilities(run.model, encoder_of(run, run.recipe.context).encode_texts([text]))
    np.testing.assert_allclose(subject.output(run.model).double().softmax(-1).numpy(), p, atol=1e-6)


def test_the_least_sure(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    texts = ["a good film number 7", "it is all the same to me", "a bad film number 8"]
    assert least_sure(run, TextRows(texts, np.zeros(3, np.int64))) == texts[1]
