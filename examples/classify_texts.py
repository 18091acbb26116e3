"""A classifier of your own texts: texts and labels in, the label of new texts out, and which words speak for it."""

import tempfile
from pathlib import Path

import cutaway as cut
from cutaway.runs.pages import draw_views

PARTS = {  # what people write to a shop, put together from parts
    "delivery": (
        ["my parcel", "the package", "my order", "the courier"],
        ["never came", "is three days late", "got lost"],
    ),
    "refund": (
        ["my money", "the refund", "the amount", "my deposit"],
        ["was not paid back", "is still missing", "is wrong"],
    ),
    "login": (["my password", "the account", "the code", "the login"], ["does not work", "is locked", "was refused"]),
}
ENDS = ["", ", please help", " since monday", " and i am angry", ", what now?"]

if __name__ == "__main__":
    rows = [
        (f"{first} {then}{end}", label)
        for label, (firsts, thens) in PARTS.items()
        for first in firsts
        for then in thens
        for end in ENDS
    ]
    table = {
        "text": [text for text, _ in rows],
        "label": [label for _, label in rows],
    }  # a CSV file or a DataFrame, too
    with tempfile.TemporaryDirectory() as folder:
        small = dict(steps=60, batch=16, width=16, vector_width=16)
        # `augment` leaves out or moves a tenth of the words, anew in every epoch: compare on validation data.
        run = cut.train("classifier", data=table, augment=0.1, out=Path(folder) / "run", show="quiet", **small)
        last = run.metrics[-1]
        print(f"{last['accuracy']:.0%} of the texts that it was not trained on are right")
        for row in run.predict(["where is my parcel?", "i want my money back", "the code was wrong"]):
            print(f"{row['text']:22} {row['label']:9} {row['P(' + row['label'] + ')']:.2f}")
        # The whole page is `cutaway look RUN "where is my parcel?"`; one of its pictures by itself:
        subject = run.subject("where is my parcel?")
        speaking = next(part for _, part, name in draw_views(run, subject) if name == "telling_words")
        print(speaking.title, "|", speaking.note)
