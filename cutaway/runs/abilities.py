r"""What a run can do: the table of abilities, for one run, for the runs of a recipe, or whole."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.overriding import override
from cutaway.recipes.index import find_recipe, is_known
from cutaway.tasks.abilities.ability import Ability, columns, offers_of
from cutaway.tasks.abilities.index import all_abilities

if TYPE_CHECKING:
    from cutaway.runs.run import Run


class Abilities(list[Ability]):
    """A list of abilities that prints as a table; ``reasons`` says by verb why a run cannot do some of them."""

    def __init__(self, abilities: Iterable[Ability], reasons: dict[str, str] | None = None) -> None:
        super().__init__(abilities)
        self.reasons = reasons or {}

    @override
    def __repr__(self) -> str:
        rows = [("verb", "takes", "gives", "what it does")]
        for one in self:
            takes = ", ".join(
                f"{flag.name}={flag.default!r}" if not flag.required else flag.name for flag in one.inputs[:3]
            )
            more = ", …" * (len(one.inputs) > 3)
            what = f"no: {self.reasons[one.verb]}" if one.verb in self.reasons else one.help
            rows.append((one.verb, takes + more, ", ".join(flag.name for flag in one.outputs), what))
        return columns(rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """The descriptions as plain data: for HTTP and forms."""
        return [one.to_dict() | {"refused": self.reasons.get(one.verb, "")} for one in self]

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)


def abilities(of: "Run | str | os.PathLike[str] | None" = None, everything: bool = False) -> Abilities:
    """What can be asked of a run (or the path of one), of the runs of a recipe by its name, or of any run.

    With ``everything`` also what it cannot do, each with the reason: ``abilities(run, everything=True).reasons``.
    """
    known = all_abilities()
    if of is None:
        return Abilities(known)
    if isinstance(of, (str, os.PathLike)) and not is_known(os.fspath(of)):
        if not Path(of).is_dir():
            find_recipe(os.fspath(of))  # says what there is
        from cutaway.runs.execution import load

        of = load(of)
    if isinstance(of, (str, os.PathLike)):
        kind = find_recipe(os.fspath(of))
        reasons = {one.verb: why for one in known if (why := _refuses(one, kind))}
    else:
        kind = type(of.recipe)
        reasons = {one.verb: why for one in known if (why := one.refuses(of))}
    listed = [one.of(kind) for one in known if everything or one.verb not in reasons]
    return Abilities(listed, reasons if everything else {})


def _refuses(ability: Ability, kind: Any) -> str:
    """Why the runs of a recipe cannot, as far as that is known without a run."""
    offer = offers_of(kind).get(ability.verb)
    if offer is not None:
        return offer.refuses if isinstance(offer.refuses, str) else ""
    if ability.check or not ability.needs or hasattr(kind, ability.needs):
        return ""
    return f"runs of {kind.name!r} cannot {ability.cannot or ability.verb}"
