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
from decimal import Decimal

import pytest

from genenv_verl.rewards.quantity import MAX_QUANTITY_CHARS, read_quantity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234.5 km", "1234.5 kilometers"),
        ("1,234.5 km", "1234.5 Kilometres"),
        ("1 234.5 km", "1'234.5 km"),
        ("5 KM", "5km"),
        ("1e3", "1000"),
        ("1E3 m", "1,000 metres"),
        (".50", "0.5"),
        ("+5", "5"),
        ("50 %", "50 percent"),
        ("$5", "5 USD"),
        ("-$5", "-5 dollars"),
        ("5 mL", "5 millilitres"),
        ("5 min", "5 minutes"),
        ("20 °C", "20 degrees Celsius"),
        ("3 kWh", "3 kwh"),
        ("2 km^2", "2 km2"),
        ("3 apples", "3 Apples"),
        ("5 gigabytes", "5 GB"),
        ("2 terawatts", "2 TW"),
        ("2.4 gigahertz", "2.4 GHz"),
        ("3 kilowatt hours", "3 kWh"),
        ("5 newtons", "5 N"),
        ("2 weeks", "2 wks"),
        ("3 years", "3 yrs"),
        ("100 kilometers per hour", "100 km/h"),
        ("60 miles per hour", "60 mph"),
        ("9 meters per second", "9 m/s"),
        ("9 metres/second", "9 m/s"),
        ("20 square centimeters", "20 cm^2"),
        ("20 cubic metres", "20 m3"),
        ("1,200 sq ft", "1200 square feet"),
        ("20 square km", "20 km2"),
        ("25 degrees C", "25 °C"),
        ("5 per cent", "5%"),
        ("100 rupees", "₹100"),
        ("USD 100", "100 USD"),
        ("USD 100", "$100"),
        ("CHF 100", "100 CHF"),
        ("EUR5", "€5"),
        ("100 megabits per second", "100 Mbps"),
        ("100 MB/s", "100 MBps"),
    ],
)
def test_the_same_quantity(one, other):
    assert read_quantity(one) is not None
    assert read_quantity(one) == read_quantity(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("50%", "0.5"),
        ("50%", "50"),
        ("5 km", "5"),
        ("5 km", "5 miles"),
        ("1 km", "1000 m"),
        ("5 mW", "5 MW"),
        ("5 m", "5 M"),
        ("5 Nm", "5 nm"),
        ("5 m/s", "5 M/s"),
        ("5 km/h", "5 km/s"),
        ("5 cm^2", "5 cm^3"),
        ("USD 5", "EUR 5"),
        ("5 Mb", "5 MB"),
        ("5 mB", "5 MB"),
        ("5 GB/s", "5 Gb/s"),
        ("5 millimoles", "5 megamoles"),
        ("5 Mcal", "5 mcal"),
        ("5 Mbps", "5 MBps"),
        ("$5", "€5"),
        ("2e-30", "1e-30"),
        ("5", "-5"),
        ("1.5", "15"),
        ("5 km", "5 km away"),
        ("0", "0x10"),
        ("1", "1e9999"),
    ],
)
def test_another_quantity(one, other):
    assert None not in (read_quantity(one), read_quantity(other))
    assert read_quantity(one) != read_quantity(other)


@pytest.mark.parametrize(
    "text",
    [
        "0042",
        "007",
        "",
        "km",
        "12,00",
        "1,2345",
        "1,23,456",
        "1.234.567",
        "1/2",
        "1:00",
        "2026-05-11",
        "1, 2, 3",
        "$5 USD",
    ]
    + ["about 5", "٣", "5" * (MAX_QUANTITY_CHARS + 1)],
)
def test_what_is_no_quantity(text):
    assert read_quantity(text) is None


def test_a_value_keeps_its_digits():
    assert read_quantity("0.1").value == Decimal("0.1")
    assert read_quantity("9007199254740993") != read_quantity("9007199254740992")
    assert read_quantity("1e999").value == Decimal("1e999")
