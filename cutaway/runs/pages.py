r"""Looking at a run: the pictures that suit it, on one page.

look_page(run)                                           every registered view that suits
look_page(run, "the cat sat", at="blocks.*.mlp.hidden")   the value at an address, for an input of yours
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cutaway.inside.address_globs import find_sites, named_sites
from cutaway.look import Facts, Page, Picture, Sample, Section
from cutaway.look.charts.values import value_pictures, value_statistics
from cutaway.look.pages.parts import Part
from cutaway.registry import View, views
from cutaway.runs.run import Run
from cutaway.tasks.subjects import Subject, subject_of
from cutaway.training.run_folder.folder import telling_changed_config

_ADDRESSES = 24  # on one page, at most
Progress = Callable[[str, int, int], None]  # what is drawn next, how many are done, and of how many


@dataclass(frozen=True)
class PlacedPicture:
    """A picture on a page, the view or address that it comes from, and the section that it stands in."""

    picture: Picture
    source: str
    section: str


def look_page(run: Run, given: str | None = None, at: str | None = None) -> Page:
    """A page with the pictures that suit a run, for an input of yours or for data that it was not trained on.

    ``at`` is an address, or a pattern of them: the page then shows these values alone.
    """
    with telling_changed_config(run.path):
        page, _ = make_page(run, subject_of(run, given), at)
        return page


def make_page(
    run: Run, subject: Subject, at: str | None = None, progress: Progress | None = None
) -> tuple[Page, list[PlacedPicture]]:
    """The page of `look_page`, and its pictures one by one; ``progress`` is called before each view."""
    sections: dict[str, list[Part]] = {}
    placed: list[PlacedPicture] = []
    parts = draw_views(run, subject, progress=progress) if at is None else _values_at(run, subject, at)
    for section, part, source in parts:
        sections.setdefault(section, []).append(part)
        if isinstance(part, Picture):
            placed.append(PlacedPicture(part, source, section))
    inputs = [Section("What goes in", _inputs(subject))] if subject.arguments else []
    facts = {
        "recipe": run.recipe.name,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "pictures": len(placed),
    }
    title = f"Inside {run.path.name}" if at is None else f"{at} in {run.path.name}"
    lead = f"A run of the recipe {run.recipe.name} on {run.recipe.data}, taken apart."
    return Page(title, lead, [*inputs, *(Section(name, parts) for name, parts in sections.items())], facts), placed


def draw_views(
    run: Run, subject: Subject, report: bool = False, progress: Progress | None = None
) -> Iterator[tuple[str, Part, str]]:
    """Section, part and source of everything that the registered views draw of a run.

    With ``report``, of the views that are marked for it. Values of the subject that several views need are read once.
    A view that cannot draw says why in its place, so that the rest of the page is not lost.
    """
    subject = subject.remembering()
    fitting = [view for view in views() if not view.at and (view.report or not report) and view.fits(run)]
    for done, view in enumerate(fitting):
        if progress is not None:
            progress(view.summary.rstrip("."), done, len(fitting))
        yield from ((view.section, part, view.name) for part in _parts_of(view, run, subject))


def _parts_of(view: View, run: Run, subject: Subject) -> list[Part]:
    try:
        return [*view.pictures(run, subject)]
    except (ModuleNotFoundError, ValueError) as error:  # an extra is missing, or this model or data is not fit for it
        return [f"{view.summary.rstrip('.')}: {str(error).rstrip('.')}."]


def _inputs(subject: Subject) -> list[Part]:
    """What a reader must know of what goes into the model."""
    parts: list[Part] = [f"{subject.words[:1].upper()}{subject.words[1:]}."]
    if subject.tokens:
        parts.append(Sample(subject.text or "".join(subject.tokens)))
    if subject.written:
        parts.append(Sample("".join(subject.written), caption="Given to the decoder"))
    return parts


def _values_at(run: Run, subject: Subject, at: str) -> Iterator[tuple[str, Part, str]]:
    """The values at the addresses that a pattern names: statistics, and pictures by their shape."""
    addresses = list(find_sites(named_sites(run.model), at))
    if len(addresses) > _ADDRESSES:
        raise ValueError(
            f"one page shows at most {_ADDRESSES} addresses, got {len(addresses)} through {at!r}; name fewer, as in "
            f"{addresses[0]!r}"
        )
    if not subject.arguments:
        raise ValueError(
            f"a value needs an input to be looked at, got none for a run of {run.recipe.name!r}; leave --at out"
        )
    for address, value in subject.read(run.model, *addresses).items():
        yield address, Facts(value_statistics(value)), address
        for picture in value_pictures(address, value, subject.tokens, subject.written):
            yield address, picture, address
        for view in views():
            if view.at and view.fits(run):
                yield from ((address, picture, view.name) for picture in view.pictures(run, subject, address, value))


def picture_rows(placed: list[PlacedPicture]) -> list[dict[str, Any]]:
    """The pictures of a page in words, for programs and for those who cannot see them."""
    return [
        {
            "view": one.source,
            "section": one.section,
            "title": one.picture.title,
            "alt": one.picture.alt,
            "note": one.picture.note,
        }
        for one in placed
    ]


__all__ = ["PlacedPicture", "Progress", "draw_views", "look_page", "make_page", "picture_rows"]
