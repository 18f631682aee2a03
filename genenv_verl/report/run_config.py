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
"""The configuration that a run was started with, as Hydra kept it, with secrets masked."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from genenv_verl.config.settings import PRESETS
from genenv_verl.report.fields import clipped, field

MAX_CONFIG_BYTES = 4_000_000
MAX_ENTRIES = 20_000
MAX_DEPTH = 40
MASK = "•••••• (masked)"

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class RunConfig:
    """A flat configuration.

    Attributes:
        values: Dotted key to value, secrets masked; values are numbers, booleans, texts and ``None``.
        overrides: The command line's overrides, secrets masked.
        cwd: The folder that training was started in, if Hydra recorded it.
        hydra_version: The version of Hydra, if it recorded it.
    """

    values: dict[str, Any]
    overrides: list[str]
    cwd: Path | None
    hydra_version: str | None = None

    @functools.cached_property
    def effective(self) -> dict[str, Any]:
        """The values that the run worked with: where the block says null, those of its preset."""
        preset = PRESETS.get(str(self.values.get("genenv.preset")), {})
        filled = {f"genenv.{key}": value for key, value in preset.items()}
        return self.values | {key: value for key, value in filled.items() if self.values.get(key) is None}

    def text(self, key: str) -> str | None:
        """The text under a key, with a reference ``${other.key}`` followed; ``None`` if there is no text."""
        value = self.values.get(key)
        for _ in range(5):
            if not isinstance(value, str) or not (reference := re.fullmatch(r"\$\{([\w.]+)\}", value)):
                break
            value = self.values.get(reference[1])
        return value if isinstance(value, str) else None


def read_config(root: Path, notes: list[str]) -> RunConfig | None:
    """Reads ``hydra/.hydra/`` of a run, or ``.hydra/``; appends to ``notes`` what is in the way."""
    folders = (root / "hydra" / ".hydra", root / ".hydra")
    try:
        folder = next((folder for folder in folders if (folder / "config.yaml").is_file()), None)
    except OSError as error:
        notes.append(f"The configuration cannot be read: {error.strerror}.")
        return None
    if folder is None:
        notes.append("No configuration was kept (hydra/.hydra/config.yaml).")
        return None
    config = _read_yaml(folder / "config.yaml", notes)
    if not isinstance(config, dict):
        if config is not None:
            notes.append("config.yaml holds no configuration.")
        return None
    hydra = _read_yaml(folder / "hydra.yaml", notes) if (folder / "hydra.yaml").is_file() else None
    overrides = _read_yaml(folder / "overrides.yaml", notes) if (folder / "overrides.yaml").is_file() else None
    runtime = flatten(field(hydra, "hydra.runtime"))
    cwd, version = runtime.get("cwd"), runtime.get("version")
    values = flatten(config)
    if len(values) >= MAX_ENTRIES:
        notes.append(f"config.yaml is cut after {MAX_ENTRIES:,} entries.")
    return RunConfig(
        values=mask_secrets(values),
        overrides=[mask_override(str(entry)) for entry in overrides] if isinstance(overrides, list) else [],
        cwd=Path(cwd) if isinstance(cwd, str) else None,
        hydra_version=version if isinstance(version, str) else None,
    )


def _read_yaml(path: Path, notes: list[str]) -> Any:
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            notes.append(f"{path.name} is larger than {MAX_CONFIG_BYTES:,} bytes and is not shown.")
            return None
        return yaml.load(path.read_text(encoding="utf-8", errors="replace"), Loader=_Loader)
    except (OSError, yaml.YAMLError, RecursionError, ValueError) as error:
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        notes.append(f"{path.name} cannot be read: {problem}.")
        return None


def flatten(config: Any) -> dict[str, Any]:
    """A nested configuration as dotted keys. Aliases that would unfold without end are cut at ``MAX_ENTRIES``."""
    flat: dict[str, Any] = {}
    _flatten_into(flat, "", config, 0)
    return flat


def _flatten_into(flat: dict[str, Any], key: str, value: Any, depth: int) -> None:
    if len(flat) >= MAX_ENTRIES:
        return
    if depth < MAX_DEPTH and isinstance(value, dict) and value:
        for name, entry in value.items():
            _flatten_into(flat, f"{key}.{name}" if key else str(name), entry, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        for place, entry in enumerate(value):
            _flatten_into(flat, f"{key}.{place}", entry, depth + 1)
    elif key:
        flat[clipped(key, 500)] = _plain(value)


def _plain(value: Any) -> Any:
    """A leaf as number, boolean, text or ``None``. A container that lies too deep is not unfolded: it may be huge."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return "{…}" if value else "{}"
    if isinstance(value, list):
        is_flat = not any(isinstance(entry, dict | list) for entry in value)
        return clipped(", ".join(map(str, value[:1000])) or "[]", 2000) if is_flat else "[…]"
    return clipped(value, 2000)


# ------------------------------------------------------------------ secrets

_SECRET_WORDS = {
    "token", "secret", "secrets", "password", "passwd", "passphrase", "pwd", "credential", "credentials", "apikey",
    "auth", "authorization", "bearer", "cookie", "cookies", "jwt",
}  # fmt: skip
_SECRET_NUMBERS = {"password", "passwd", "passphrase", "pwd", "secret"}  # not "token": "max_token: 5" is a count
_TEXT_TOKENS = {"eos", "bos", "pad", "unk", "sep", "cls", "stop", "mask", "special", "image", "video", "added"}
_KEY_OWNERS = {"api", "access", "secret", "private", "auth", "ssh", "encryption", "wandb", "hf", "openai", "license"}
_SECRET_VALUES = re.compile(
    r"""\b(?:sk|pk|rk)-[\w-]{16,} | \bhf_\w{16,} | \bgh[a-z]_\w{16,} | \bgithub_pat_\w{16,} | \bglpat-[\w-]{16,}
    | \bxox[a-z]-[\w-]{10,} | \bAKIA[0-9A-Z]{12,} | \bAIza[\w-]{20,} | \beyJ[\w-]{10,}\.[\w-]{10,}[\w.-]*
    | (?<=[Bb]earer\ )[\w.~+/=-]{6,} | (?<=[Bb]asic\ )[\w+/=]{6,} | (?<=://)[^/@\s]+(?=@)
    | (?<=[?&])(?i:[\w-]*(?:key|token|secret|password|signature|sig))=[^&\s#]+
    | -----BEGIN[\s\S]*""",
    re.VERBOSE,
)


def mask_secrets(values: dict[str, Any]) -> dict[str, Any]:
    """The configuration with every value masked that is a secret by its key or by its looks."""
    return {key: mask_value(key, value) for key, value in values.items()}


def mask_value(key: str, value: Any) -> Any:
    """One value, masked if it is a secret. ``max_tokens: 4096`` and ``prompt_key: prompt`` are none."""
    if isinstance(value, bool) or value in (None, "", "[]", "{}"):
        return value
    if not isinstance(value, str):
        return MASK if _SECRET_NUMBERS & set(_words(key.split(".")[-1])) else value
    if _is_secret_key(key) and not re.fullmatch(r"\$\{[\w.]+\}", value):
        return MASK
    return _SECRET_VALUES.sub(MASK, value)


def mask_override(override: str) -> str:
    """One override of the command line, ``key=value``, masked if its value is a secret."""
    key, equals, value = override.partition("=")
    if re.fullmatch(r"-?[0-9]{1,18}", value):
        value = int(value)  # a count, as it is in the configuration
    return f"{key}{equals}{mask_value(key, value)}" if equals else str(mask_value("", override))


def _is_secret_key(key: str) -> bool:
    """Whether any part of a dotted key names a secret: what lies below ``credentials`` is one, too."""
    return any(_names_secret(_words(part)) for part in key.split("."))


def _names_secret(words: list[str]) -> bool:
    if _SECRET_WORDS & set(words) and not _TEXT_TOKENS & set(words):
        return True
    return any(word in {"key", "keys"} and _KEY_OWNERS & set(words[:place]) for place, word in enumerate(words))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
