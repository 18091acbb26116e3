r"""The fields of a configuration, each checked as it is read: that it is there, its kind and its range.

A field that is null counts as absent, as in transformers, which writes null for what is not set.
"""

from typing import Any

Config = dict[str, Any]
LARGEST = 2**31 - 1  # of sizes: more could not be counted by the tensors of any file
NEEDED = object()


def _read(config: Config, key: str, default: Any, fits: Any, rule: str) -> Any:
    value = config.get(key)
    if value is None:
        if default is NEEDED:
            raise ValueError(
                f"config.json of a {config.get('model_type')} must state {key}, got one without it; download it again"
            )
        return default
    if not fits(value):
        raise ValueError(f"{key} in config.json must be {rule}, got {_short(value)}; download it again")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def is_whole(value: Any, least: int, most: int = LARGEST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def whole(config: Config, key: str, default: Any = NEEDED, least: int = 1) -> int:
    """A size or a count."""
    rule = f"a whole number from {least} to {LARGEST}"
    return _read(config, key, default, lambda value: is_whole(value, least), rule)


def number(config: Config, key: str, default: Any = NEEDED) -> float:
    """A number above 0."""
    fits = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e30
    return _read(config, key, default, fits, "a number above 0")


def share(config: Config, key: str, default: float = 0.0) -> float:
    """A number from 0 to 1, such as the rate of a dropout."""
    fits = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    return _read(config, key, default, fits, "a number from 0 to 1")


def flag(config: Config, key: str, default: bool) -> bool:
    return _read(config, key, default, lambda value: isinstance(value, bool), "true or false")


def name(config: Config, key: str, default: str) -> str:
    return _read(config, key, default, lambda value: isinstance(value, str), "a name")


def part(config: Config, key: str) -> Config:
    """An object inside the configuration; empty if it is absent."""
    return _read(config, key, {}, lambda value: isinstance(value, dict), "an object")


def side_lengths(config: Config, key: str) -> tuple[int, int]:
    """The height and width of an image: one number if they are equal, else two."""

    def fits(value: Any) -> bool:
        pair = value if isinstance(value, list) else [value] * 2
        return len(pair) == 2 and all(is_whole(side, 1) for side in pair)

    found = _read(config, key, NEEDED, fits, "one whole number above 0 or two")
    return (found[0], found[1]) if isinstance(found, list) else (found, found)


def token(config: Config, key: str) -> int | None:
    """The id of a token; some configurations write −1 for none."""
    found = _read(config, key, None, lambda value: is_whole(value, -1), "the id of a token")
    return None if found == -1 else found


def tokens(config: Config, key: str) -> tuple[int, ...]:
    """The ids of no token, one, or several."""

    def fits(value: Any) -> bool:
        return all(is_whole(one, -1) for one in (value if isinstance(value, list) else [value]))

    found = _read(config, key, [], fits, "the id of a token, or a list of them")
    return tuple(one for one in (found if isinstance(found, list) else [found]) if one >= 0)


def label_names(config: Config) -> tuple[str, ...] | int:
    """The names of the classes by their numbers, or how many there are if they have none."""

    def fits(value: Any) -> bool:
        plain = isinstance(value, dict) and all(isinstance(label, (str, int, float)) for label in value.values())
        return plain and set(value) == {str(i) for i in range(len(value))}

    named = _read(config, "id2label", None, fits, "an object from the numbers 0, 1, 2, … to names")
    if not named:
        return whole(config, "num_labels", 2)
    return tuple(str(named[str(i)]) for i in range(len(named)))


def architecture(config: Config, known: tuple[str, ...], family: str) -> str:
    """The class that a configuration names; the first of those known if it names none."""
    fits = lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)
    found = (_read(config, "architectures", [], fits, "a list of names") or known)[0]
    if found not in known:
        raise ValueError(
            f"the architecture of a {family} checkpoint must be one of {', '.join(known)}, got {found}; "
            "other heads cannot be loaded"
        )
    return found
