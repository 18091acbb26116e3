"""Learn from a graph without labels, then name the fields of papers with a handful of them.

Words and citations of some papers are hidden, and restored from the rest (`masked-graph`). No field is read.
Afterwards a linear map on the vectors of papers needs far fewer labels than one on their words; so does a tuned model.
The picture papers_without_labels.png shows the vectors, in the colours of fields that the network was never told.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

import cutaway as cut


def head(x: np.ndarray, y: np.ndarray, few: np.ndarray, asked: np.ndarray) -> float:
    """The accuracy of a linear map that learns from few rows."""
    scaled = (x - x.mean(0)) / (x.std(0) + 1e-6)
    return float(LogisticRegression(C=0.1, max_iter=1000).fit(scaled[few], y[few]).score(scaled[asked], y[asked]))


def main() -> None:
    papers = cut.data.read_graph("citations")
    run = cut.train("masked-graph", data="citations", hide="both", width=64, show="quiet")
    vectors, words = run.embed("all").numpy(), papers.graph.x.numpy()
    fields = papers.targets.numpy()

    order = np.random.default_rng(0).permutation(len(fields))
    asked = order[-400:]
    for count in (1, 3, 10):
        few = np.concatenate([[v for v in order[:-400] if fields[v] == k][:count] for k in range(len(papers.classes))])
        by_vectors, by_words = (head(x, fields, few, asked) for x in (vectors, words))
        print(f"{count:2} papers of each field: by the learned vectors {by_vectors:.1%}, by their words {by_words:.1%}")

    tuned = cut.tune(run, data="citations", head_only=True, show="quiet")
    print(f"a head tuned to all known fields: {tuned.test()['accuracy']:.1%}")
    picture = cut.look.embedding_map(
        vectors[asked],
        [papers.names[v] for v in asked],
        [papers.classes[fields[v]] for v in asked],
        title="Papers by what was learned without labels",
    )
    print(picture.save("papers_without_labels.png"))


if __name__ == "__main__":
    main()
