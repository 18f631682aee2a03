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
its written-out name are one unit (``km``, ``kilometre``, ``kilometers``; ``m/s``, ``metres per second``); letter case
counts where it makes another unit (``mW`` and ``MW``, ``Mb`` and ``MB``, ``nm`` and ``Nm``).
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
    three; the decimal sign is the point, a decimal comma is not read. Fractions, products (``2 × 10^3`` may be the
    question) and times are no quantities, nor is a number with leading zeros: it is a code.

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
    """One spelling for each unit; of a quotient (``miles per hour``), for each of its parts."""
    return "/".join(map(_simple_unit, _PER.split(_BITS_PER_SECOND.sub("/s", written))))


def _simple_unit(written: str) -> str:
    joined = written.replace(" ", "").replace("^", "")
    folded = joined.casefold()
    return _NAMES.get(folded) or _symbol(joined, folded)


def _symbol(unit: str, folded: str) -> str:
    """A symbol without letter case, except where it tells milli from mega, or bit from byte."""
    if _BITS_AND_BYTES.fullmatch(folded):
        prefix = unit[:-1] if folded[0] == "m" else folded[:-1]
        return prefix + unit[-1]
    return unit[0] + folded[1:] if _CASE_OF_THE_FIRST.fullmatch(folded) else folded


_QUANTITY = re.compile(
    r"""
    (?P<sign>[-+]?)
    (?P<currency>(?:US)?\$|[€£¥₹]
        |(?:AUD|BRL|CAD|CHF|CNY|DKK|EUR|GBP|HKD|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|SGD|USD|ZAR)(?=[\s0-9]))?\s?
    (?P<number>(?:[1-9][0-9]{0,2}(?P<group>[,\s'])[0-9]{3}(?:(?P=group)[0-9]{3})*|0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)
    (?P<exponent>(?:[eE][-+]?[0-9]{1,3})?)
    \s?
    (?P<unit>(?:[^\W\d_]|[%°$€£¥₹])[\w/°^]*(?:\s(?:per\s)?[^\W\d_][\w/°^]*)?)?
    """,
    re.VERBOSE,
)
_GROUPING = re.compile(r"[,\s']")
_PER = re.compile(r"/|\sper\s")
_BITS_PER_SECOND = re.compile(r"(?<=b)ps$", re.IGNORECASE)
_BITS_AND_BYTES = re.compile(r"[kmgtp]?b")
# Milli or mega, nanometre or newton metre.
_CASE_OF_THE_FIRST = re.compile(r"m(?:[wvajmgsnlω]|hz|pa|wh|ev|mol|cal)?|nm")


def _spellings() -> dict[str, str]:
    """Written-out names, folded and without blanks, with the symbol that they stand for."""
    prefixes = {"": "", "milli": "m", "centi": "c", "hecto": "h", "kilo": "k", "mega": "M", "giga": "G", "tera": "T"}
    prefixes |= {"micro": "μ", "nano": "n"}
    bases = {"metre": "m", "meter": "m", "gram": "g", "gramme": "g", "litre": "L", "liter": "L", "watt": "W"}
    bases |= {"second": "s", "volt": "V", "ampere": "A", "amp": "A", "joule": "J", "hertz": "Hz", "watthour": "Wh"}
    bases |= {"newton": "N", "pascal": "Pa", "ohm": "Ω", "mole": "mol", "calorie": "cal", "byte": "B", "bit": "b"}
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
        "₹": ("inr", "rupee", "rupees"),
        "°c": ("degreescelsius", "degreecelsius", "celsius", "degreesc"),
        "°f": ("degreesfahrenheit", "degreefahrenheit", "fahrenheit", "degreesf"),
        "°": ("degree", "degrees"),
        "k": ("kelvin", "kelvins"),
        "s": ("sec", "secs"),
        "min": ("mins", "minute", "minutes"),
        "h": ("hr", "hrs", "hour", "hours"),
        "d": ("day", "days"),
        "wk": ("wks", "week", "weeks"),
        "mo": ("mos", "month", "months"),
        "yr": ("yrs", "year", "years"),
        "kg": ("kgs",),
        "t": ("tonne", "tonnes"),
        "km": ("kms",),
        "km/h": ("kmh", "kph"),
        "mi": ("mile", "miles"),
        "mi/h": ("mph",),
        "yd": ("yds", "yard", "yards"),
        "ft": ("foot", "feet"),
        "in": ("inch", "inches"),
        "lb": ("lbs",),
        "oz": ("ounce", "ounces"),
        "gal": ("gallon", "gallons"),
        "ha": ("hectare", "hectares"),
    }
    for symbol, spelled in families.items():
        names |= dict.fromkeys(spelled, symbol)
    lengths = {"mm", "cm", "m", "km", "mi", "yd", "ft", "in"}
    return names | {
        word + name: symbol + power
        for word, power in (("square", "2"), ("sq", "2"), ("cubic", "3"))
        for name, symbol in [*names.items(), *zip(lengths, lengths, strict=True)]
        if symbol in lengths
    }


_NAMES = _spellings()
