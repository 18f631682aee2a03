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
"""The jail's program for checkers: it loads what they may import, and is otherwise ``checker``."""

# What checkers may import: nothing else of Python is within their reach.
# ruff: noqa: F401
from __future__ import annotations

import _strptime
import ast
import base64
import bisect
import calendar
import collections.abc
import copy
import datetime
import decimal
import difflib
import encodings.aliases
import encodings.ascii
import encodings.latin_1
import encodings.utf_8_sig
import encodings.utf_16
import enum
import fractions
import functools
import heapq
import itertools
import json
import math
import numbers
import operator
import os
import random
import re
import statistics
import string
import struct
import sys
import textwrap
import time
import typing
import unicodedata
import urllib.parse
import zlib

from genenv_verl.tasks.sandbox.checker import reply, steps
