r"""Sample pairs for translation: dates as people write them, and in ISO 8601. Everyone can check a translation.

    Tuesday the 3rd of March 1987                   1987-03-03
    march the third, nineteen eighty-seven          1987-03-03

Days come before months where both are figures. No date is there twice, so a date of the test was never seen in training
in any form.
"""

import datetime

from cutaway.data.seeded_draws import draw_integers, draw_permutation

COUNT = 20_000
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ONES += [f"{start}teen" for start in ("thir", "four", "fif", "six", "seven", "eigh", "nine")]
_TENS = [f"{start}ty" for start in ("twen", "thir", "for", "fif", "six", "seven", "eigh", "nine")]
# not by strftime, which writes the language of the machine
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ["January", "February", "March", "April", "May", "June"]
_MONTHS += ["July", "August", "September", "October", "November", "December"]
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}


def spell(number: int) -> str:
    """A number from 1 to 99 in words.

    >>> spell(7), spell(40), spell(87)
    ('seven', 'forty', 'eighty-seven')
    """
    if number < 20:
        return _ONES[number - 1]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones - 1]}" if ones else "")


def spell_ordinal(number: int) -> str:
    """The place of something in a row, in words.

    >>> spell_ordinal(3), spell_ordinal(20), spell_ordinal(31)
    ('third', 'twentieth', 'thirty-first')
    """
    start, dash, last = spell(number).rpartition("-")
    ending = last[:-1] + "ieth" if last.endswith("y") else last[:-2] + "fth" if last.endswith("ve") else last + "th"
    return start + dash + _ORDINALS.get(last, ending)


def spell_year(year: int) -> str:
    """A year of the 20th or 21st century as it is said.

    >>> spell_year(1900), spell_year(1905), spell_year(2000), spell_year(2007), spell_year(2038)
    ('nineteen hundred', 'nineteen oh five', 'two thousand', 'two thousand and seven', 'twenty thirty-eight')
    """
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return "two thousand" + (f" and {spell(rest)}" if rest else "")
    if rest < 10:
        return f"{spell(century)} {f'oh {spell(rest)}' if rest else 'hundred'}"
    return f"{spell(century)} {spell(rest)}"


def suffixed(day: int) -> str:
    """
    >>> suffixed(1), suffixed(12), suffixed(23)
    ('1st', '12th', '23rd')
    """
    return f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def written_forms(date: datetime.date) -> list[str]:
    """All the forms in which a date is written."""
    weekday = _DAYS[date.weekday()]
    month = _MONTHS[date.month - 1]
    day, year = date.day, date.year
    return [
        f"{day} {month} {year}",
        f"{month} {day}, {year}",
        f"{weekday}, {day} {month} {year}",
        f"the {suffixed(day)} of {month} {year}",
        f"{weekday} the {suffixed(day)} of {month} {year}",
        f"{month} {suffixed(day)}, {year}",
        f"{day} {month[:3]} {year}",
        f"{weekday[:3]}, {month[:3]} {day} {year}",
        f"{year}, {day} {month}",
        f"{day}.{date.month}.{year}",
        f"the {spell_ordinal(day)} of {month}, {spell_year(year)}",
        f"{month} the {spell_ordinal(day)}, {spell_year(year)}",
    ]


def make_dates(count: int = COUNT) -> str:
    """Lines of a date in one of its forms, a tab, and the date in ISO 8601; always the same ones."""
    days = draw_permutation(0, "dates", 0, (LAST - FIRST).days + 1)[:count]
    chosen, cases = (draw_integers(0, "dates", number, count, below) for number, below in ((1, 12), (2, 4)))
    lines = []
    for day, form, case in zip(days.tolist(), chosen.tolist(), cases.tolist()):
        date = FIRST + datetime.timedelta(days=day)
        text = written_forms(date)[form]
        lines.append(f"{text if case else text.lower()}\t{date.isoformat()}\n")
    return "".join(lines)


__all__ = ["make_dates", "written_forms"]
