"""A tagger of your own: word<TAB>tag in, a tag for every word of new sentences out, and what each was found by."""

import tempfile
from pathlib import Path

import cutaway as cut

# "saw" and "can" are nouns or verbs: only the words around them tell.
SENTENCES = """
the/D dog/N can/V run/V ./P
the/D old/A can/N fell/V ./P
they/R saw/V the/D saw/N ./P
a/D saw/N can/V cut/V ./P
she/R can/V see/V a/D can/N ./P
they/R run/V ./P
the/D old/A saw/N ran/V ./P
she/R saw/V the/D old/A dog/N ./P
"""

if __name__ == "__main__":
    blocks = (line.split() for line in SENTENCES.strip().splitlines() * 5)
    text = "\n".join("".join(pair.replace("/", "\t") + "\n" for pair in block) for block in blocks)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "words.tsv").write_text(text, encoding="utf-8")
        small = dict(width=24, word_width=16, filters=8, affix_width=4, dropout=0.1, ema=0.0, batch=8, rate=0.01)
        run = cut.train(
            "tagger", data=f"{folder}/words.tsv", steps=150, test=0.0, out=Path(folder) / "run", show="quiet", **small
        )
        for row in run.predict("the can saw a can."):
            print(f"{row['word']:6} {row['tag']}  {row['probability']:.2f}")
        # The whole page is `cutaway look RUN "the can saw a can."`; a picture of it by itself:
        subject = run.subject("the can saw a can.")
        with cut.trace(run.model, "lstm.layers.0.*.hidden") as seen:
            run.model(*subject.arguments)
        for address, states in seen.items():
            print(address, tuple(states.shape))
