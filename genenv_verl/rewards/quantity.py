# Copyright 2025 Individual Contributor: the genenv_verl authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Numbers with their units, as answers write them: ``1,234.5 km``, ``$1e3``, ``-5 %``.

Two quantities are the same if value and unit are. Units are compared by name and never converted: ``1 km`` is not
``1000 m``, ``50%`` is neither ``50`` nor ``0.5``, and a number without a unit is not one with it. A unit's symbol and
its written-out name are one unit (``km``, ``kilometre``, ``kilometers``); letter case counts where it makes another
unit (``mW`` and ``MW``, ``Mb`` and ``MB``).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

MAX_QUANTITY_CHARS = 64


class Quantity(NamedTuple):
    """A value and its unit, ``""`` for none."""

    value: Decimal
    unit: str


def read_quantity(text: str) -> Quantity | None:
    """Reads a text that is one number, with a unit or without, and nothing else.

    Thousands may be grouped by commas, blanks or apostrophes (``1,234``, ``1 234``, ``1'234``), in whole groups of
    three; the decimal sign is the point, a decimal comma is not read. Fractions and times are no
    quantities, nor is a number with leading zeros: it is a code.

    Args:
        text: A text in Unicode NFKC, with single blanks and ASCII minus signs, in its own letter case.

    Returns:
        The quantity, or None, also for texts over ``MAX_QUANTITY_CHARS`` characters.
    """
    if len(text) > MAX_QUANTITY_CHARS:
        return None
    match = _QUANTITY.fullmatch(text)
    if match is None or (match["currency"] and match["unit"]):
        return None
    digits = _GROUPING.sub("", match["number"])
    value = Decimal(match["sign"] + digits + match["exponent"])
    return Quantity(value, _unit(match["currency"] or match["unit"] or ""))


def _unit(written: str) -> str:
    """One spelling for each unit."""
    joined = written.replace(" ", "").replace("^", "")
    folded = joined.casefold()
    return _NAMES.get(folded) or _symbol(joined, folded)


def _symbol(unit: str, folded: str) -> str:
    """A symbol without letter case, except where it tells milli from mega, or bit from byte."""
    if match := _BITS_AND_BYTES.match(folded):
        first = unit[0] if folded[0] == "m" else folded[0]
        return (first if match.end() == 2 else "") + unit[match.end() - 1] + folded[match.end() :]
    return unit[0] + folded[1:] if _MILLI_AND_MEGA.match(folded) else folded


_QUANTITY = re.compile(
    r"""
    (?P<sign>[-+]?)
    (?P<currency>(?:US)?\$|[€£¥])?\s?
    (?P<number>(?:[1-9][0-9]{0,2}(?P<group>[,\s'])[0-9]{3}(?:(?P=group)[0-9]{3})*|0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)
    (?P<exponent>(?:[eE][-+]?[0-9]{1,3})?)
    \s?
    (?P<unit>(?:[^\W\d_]|[%°$€£¥])[\w/°^]*(?:\s[^\W\d_][\w/°^]*)?)?
    """,
    re.VERBOSE,
)
_GROUPING = re.compile(r"[,\s']")
_BITS_AND_BYTES = re.compile(r"[kmgtp]?b(?=ps\b|/|$)")
_MILLI_AND_MEGA = re.compile(r"m(?:[wvajmgsnl]|hz|pa|wh|ev)?(?:/|$)")


def _spellings() -> dict[str, str]:
    """Written-out names, folded and without blanks, with the symbol that they stand for."""
    prefixes = {"": "", "milli": "m", "centi": "c", "kilo": "k", "mega": "M", "micro": "μ", "nano": "n"}
    bases = {"metre": "m", "meter": "m", "gram": "g", "gramme": "g", "litre": "L", "liter": "L", "watt": "W"}
    bases |= {"second": "s", "volt": "V", "ampere": "A", "joule": "J", "hertz": "Hz", "byte": "B", "bit": "b"}
    names = {
        prefix + base + plural: _symbol(short + symbol, (short + symbol).casefold())
        for prefix, short in prefixes.items()
        for base, symbol in bases.items()
        for plural in ("", "s")
    }
    families = {
        "%": ("percent", "percents"),
        "$": ("us$", "usd", "dollar", "dollars", "usdollar", "usdollars"),
        "€": ("eur", "euro", "euros"),
        "£": ("gbp",),
        "¥": ("jpy", "yen"),
        "°c": ("degreescelsius", "degreecelsius", "celsius"),
        "°f": ("degreesfahrenheit", "degreefahrenheit", "fahrenheit"),
        "°": ("degree", "degrees"),
        "s": ("sec", "secs"),
        "min": ("mins", "minute", "minutes"),
        "h": ("hr", "hrs", "hour", "hours"),
        "d": ("day", "days"),
        "kg": ("kgs",),
        "km": ("kms",),
        "km/h": (
            "kmh",
            "km/hr",
            "kph",
            "kilometersperhour",
            "kilometresperhour",
            "kilometerperhour",
            "kilometreperhour",
        ),
        "mi": ("mile", "miles"),
        "ft": ("foot", "feet"),
        "in": ("inch", "inches"),
        "lb": ("lbs",),
        "km2": ("squarekilometers", "squarekilometres", "squarekilometer", "squarekilometre"),
        "m2": ("squaremeters", "squaremetres", "squaremeter", "squaremetre"),
    }
    for symbol, spelled in families.items():
        names |= dict.fromkeys(spelled, symbol)
    return names


_NAMES = _spellings()
