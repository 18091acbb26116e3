"""Texts split into words."""

import pytest

from cutaway.data.text.word_splitting import split_words

CASES = {
    "Don't stop.": "Do n't stop .",
    "It’s we’ll I'm they'd": "It ’s we ’ll I 'm they 'd",
    "well-known -- wait...": "well - known -- wait ...",
    "Mail a.b@c.org or http://x.y/z?q=1 now": "Mail a.b@c.org or http://x.y/z?q=1 now",
    "$1,000.50 at 10:30, 24/7": "$ 1,000.50 at 10:30 , 24/7",
    "the U.S. 'quoted'": "the U.S. ' quoted '",
    "naïve café 日本": "naïve café 日本",
    "": "",
}


@pytest.mark.parametrize("text", CASES)
def test_words(text):
    assert split_words(text) == CASES[text].split()
