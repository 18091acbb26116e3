r"""Views of runs whose words have vectors: how alike words are, a map of frequent words, and nearest words."""

from typing import TYPE_CHECKING

from cutaway.look import neighbours
from cutaway.look.embeddings.word_maps import word_map, word_similarity
from cutaway.look.pages.picture import Picture
from cutaway.runs.views.graph_views.hidden_parts import restores_graphs
from cutaway.runs.views.graph_views.vertices import classifies_vertices
from cutaway.tasks.abilities.ability import Offer, offers_of
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_COMPARED = 40  # words of a heat map that can be read
_MAPPED = 200  # words on a map
_SEARCHED = 6  # words whose neighbours are shown
_LEAST = 8  # words of a map


def has_words(run: "Run") -> bool:
    """Runs of recipes that have vectors of words, or of vertices that no other map shows."""
    mapped = classifies_vertices(run) or restores_graphs(run)
    return find_method(run, "word_rows") is not None and not mapped


def similar_words(run: "Run", subject: Subject) -> list[Picture]:
    """How alike the words of the subject are, pair by pair."""
    rows = [run.word_table.places[word] for word in subject.tokens[:_COMPARED]]
    if len(rows) < 2:
        return []
    return [word_similarity(run.word_table.matrix[rows], [run.word_table.words[i] for i in rows])]


def frequent_words(run: "Run", subject: Subject) -> list[Picture]:
    """A map of the words of the subject and of the most frequent ones, by t-SNE."""
    table = run.word_table
    readable = [i for i, word in enumerate(table.words[: 20 * _MAPPED]) if len(word) > 2 and word[0].isalpha()]
    own = [table.places[word] for word in subject.tokens]
    rows = list(dict.fromkeys([*own, *readable]))[:_MAPPED]
    if len(rows) < _LEAST:
        return []
    noun = offers_of(type(run.recipe)).get("nearest", Offer("nearest")).noun or "words"
    title = f"Map of {noun}: {len(rows)} of {len(table.words):,}"
    words = [table.words[i] for i in rows]
    picture = word_map(table.matrix[rows], words, perplexity=subject.perplexity, title=title)
    if noun != "words":
        return [picture.captioned(f"{noun.capitalize()} that lie together have vectors that point alike.")]
    picture.note += " Shown are the words of this page, then the most frequent ones of three letters or more."
    return [picture]


def nearest_words(run: "Run", subject: Subject) -> list[Picture]:
    """The words nearest to some of the subject, by cosine."""
    table = run.word_table
    step = max(1, len(subject.tokens) // _SEARCHED)
    asked = list(dict.fromkeys(subject.tokens[::step]))[:_SEARCHED]
    if not asked or len(table.words) < 2:
        return []
    vectors = {word: table.matrix[table.places[word]] for word in asked}
    count = min(8, len(table.words) - 1)
    picture = neighbours(table.matrix, table.words, vectors, count=count, title="Nearest words")
    return [picture.captioned("Neighbours should be words that could stand in the same places of a text.")]
