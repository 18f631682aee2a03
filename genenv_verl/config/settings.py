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
"""The ``genenv`` block as a typed, validated object.

Plain Python: it is read by the driver before Ray starts, by the trainer, and by the command line without verl.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from genenv_verl.config.allowed import allowed_values, block_of
from genenv_verl.rewards.measures import find_measure
from genenv_verl.tasks.sandbox.settings import SandboxSettings

Variant = Literal["genenv", "random", "static", "offline", "grpo"]
Granularity = Literal["task", "seed", "batch", "shrunk"]
Filter = Literal["band", "top_k", "none"]

OpenUnit = Annotated[float, Field(gt=0.0, lt=1.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(gt=0.0)]

# What each preset puts where the block says null. `paper` follows Table 2 of the paper and the authors' beta.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"granularity": "seed", "filter": "band", "k_min": 0.1, "beta": 2.0, "rwr.lam": 1.0},
    "calibrated": {"granularity": "task", "filter": "none", "k_min": 0.1, "beta": 10.0, "rwr.lam": 0.2},
}


class SettingsError(ValueError):
    """A bad value in the ``genenv`` block. The message names key, value and what is allowed, one line a fault."""


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class AlphaSettings(_Block):
    """Target success rate and its schedule."""

    schedule: Literal["constant", "linear", "piecewise"] = "constant"
    start: OpenUnit = 0.5
    end: OpenUnit = 0.5
    epochs: int = Field(default=10, ge=1)
    points: list[tuple[Annotated[int, Field(ge=0)], OpenUnit]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _points_ascend(self) -> AlphaSettings:
        if self.schedule == "piecewise":
            epochs = [epoch for epoch, _ in self.points]
            if not epochs or epochs[0] != 0 or epochs != sorted(set(epochs)):
                raise ValueError("schedule 'piecewise' needs points [[0, alpha], …] with ascending epochs")
        return self


class RewardSettings(_Block):
    """R_agent."""

    match: Literal["strict", "subset", "soft"] = "strict"
    text: str = "ratio"

    @field_validator("text")
    @classmethod
    def _is_a_measure(cls, name: str) -> str:
        find_measure(name)
        return name


class RegressionSettings(_Block):
    """Reward-weighted regression."""

    lam: float = Field(gt=0.0)
    weight: Literal["exp", "linear"] = "exp"
    batch_size: int = Field(default=64, ge=1)
    epochs: int = Field(default=1, ge=1)
    kl_coef: float = Field(default=0.001, ge=0.0)
    max_kl: float | None = Field(default=0.1, gt=0.0)


class MixtureSettings(_Block):
    """Shares of an agent batch."""

    base: Share = 0.25
    pool: Share = 0.25
    fresh: Share = 0.5

    @model_validator(mode="after")
    def _sums_to_one(self) -> MixtureSettings:
        total = self.base + self.pool + self.fresh
        if not math.isclose(total, 1.0, abs_tol=1e-6):
            raise ValueError(f"base + pool + fresh must sum to 1, got {total:g}")
        if self.fresh == 0.0:
            raise ValueError("fresh must be above 0: without fresh tasks there is no environment (use variant=grpo)")
        return self


TrustAction = Literal["report", "scale", "quarantine"]


class TrustSettings(_Block):
    """What the attempts at a task say about the task: from where on it is a flag, and what follows from a flag."""

    suspected_wrong_gold: TrustAction = "quarantine"
    ambiguous: TrustAction = "report"
    lucky: TrustAction = "report"
    unsolvable_for_now: TrustAction = "report"
    reward_scale: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    agreement: Annotated[float, Field(gt=0.0, le=1.0)] = 0.6
    max_success: Share = 0.125
    ambiguous_band: Annotated[float, Field(ge=0.0, le=0.5)] = 0.35
    lucky_chance: Annotated[float, Field(gt=0.0, le=1.0)] = 0.2


class NoveltySettings(_Block):
    """What counts as new, and what it is worth."""

    near_duplicate: Annotated[float, Field(gt=0.0, le=1.0)] | None = 0.6
    max_same_template: Annotated[int, Field(ge=1)] | None = None
    lam_dup: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    evaluation_files: list[str] = Field(default_factory=list)
    check_validation_files: bool = True


class BudgetSettings(_Block):
    """Where a run ends; ``None`` means no limit."""

    agent_steps: int | None = Field(default=None, ge=1)
    agent_tokens: int | None = Field(default=None, ge=1)
    total_tokens: int | None = Field(default=None, ge=1)


class WatchdogSettings(_Block):
    """Limits in seconds for phases that can hang; ``None`` means no limit."""

    weight_sync: Seconds | None = 1200.0
    write_tasks: Seconds | None = 7200.0
    agent_step: Seconds | None = 14400.0
    environment_update: Seconds | None = 7200.0
    checkpoint: Seconds | None = 3600.0


class Settings(_Block):
    """The whole block, presets already filled in. See genenv.yaml for the meaning of each key."""

    variant: Variant = "genenv"
    preset: Literal["paper", "calibrated"] = "paper"
    seeds: str | list[str]
    environment: dict[str, Any] = Field(default_factory=dict)
    n_variations: int = Field(default=4, ge=1)
    steps_per_epoch: int | None = Field(default=None, ge=1)
    environment_template: str | None = None
    offer_checkers: bool = False
    agent_template: str | None = None
    success_threshold: float = Field(default=1.0, gt=0.0, le=1.0)
    reward: RewardSettings = Field(default_factory=RewardSettings)
    seed: int = Field(default=0, ge=0)
    seeded_rollouts: bool = False
    alpha: AlphaSettings = Field(default_factory=AlphaSettings)
    beta: float = Field(gt=0.0)
    granularity: Granularity
    filter: Filter
    k_min: float = Field(gt=0.0, lt=1.0)
    min_accepted: int = Field(default=16, ge=0)
    top_k: float = Field(default=0.25, gt=0.0, le=1.0)
    history_decay: Share = 0.5
    objective: Literal["rwr", "grpo"] = "rwr"
    rwr: RegressionSettings
    mixture: MixtureSettings = Field(default_factory=MixtureSettings)
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    trust: TrustSettings = Field(default_factory=TrustSettings)
    novelty: NoveltySettings = Field(default_factory=NoveltySettings)
    validity_rules: list[str] = Field(default_factory=list)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    watchdog: WatchdogSettings = Field(default_factory=WatchdogSettings)
    poll_interval: float = Field(default=0.1, gt=0.0)

    @field_validator("objective")
    @classmethod
    def _variations_can_differ(cls, objective: str, info: ValidationInfo) -> str:
        """No advantage tells of difficulty where a seed's variations share one p̂, or where there is only one."""
        granularity = info.data.get("granularity")
        if objective == "grpo" and granularity in ("seed", "batch"):
            raise ValueError(
                f"it compares the variations of a seed, which share one p̂ with genenv.granularity = {granularity!r}; "
                "set genenv.granularity=task or shrunk, or genenv.preset=calibrated"
            )
        if objective == "grpo" and info.data.get("n_variations") == 1:
            raise ValueError("it compares the variations of a seed, and genenv.n_variations = 1; set it to 2 or more")
        return objective

    @property
    def has_environment(self) -> bool:
        return self.variant in ("genenv", "random")

    @property
    def has_fixed_set(self) -> bool:
        """Whether the run trains on a file that ``genenv-verl augment`` wrote."""
        return self.variant in ("static", "offline")

    @property
    def trains_environment(self) -> bool:
        return self.variant == "genenv"

    @property
    def seed_files(self) -> list[str]:
        return [self.seeds] if isinstance(self.seeds, str) else list(self.seeds)


def read_settings(block: dict[str, Any]) -> Settings:
    """Validates the ``genenv`` block of a resolved configuration.

    Args:
        block: the block as plain containers, interpolations resolved.

    Returns:
        The typed settings, with the preset's values where the block says null.

    Raises:
        SettingsError: names every bad key with its value and what is allowed.
    """
    block = dict(block)
    preset = PRESETS.get(str(block.get("preset", "paper")), PRESETS["paper"])
    for key in ("granularity", "filter", "k_min", "beta"):
        if block.get(key) is None:
            block[key] = preset[key]
    rwr = block.setdefault("rwr", {})
    if isinstance(rwr, dict) and rwr.get("lam") is None:
        block["rwr"] = {**rwr, "lam": preset["rwr.lam"]}
    try:
        return Settings.model_validate(block)
    except ValidationError as error:
        # a union reports a fault for each of its members
        raise SettingsError("\n".join(dict.fromkeys(map(_fault_line, error.errors())))) from None


def _fault_line(fault: dict[str, Any]) -> str:
    """``key = value: what is allowed``, for one fault that pydantic found."""
    block: type[BaseModel] = Settings
    field = None
    path = ["genenv"]
    for part in fault["loc"]:
        if field is not None and isinstance(part, str):
            continue  # pydantic's name for a member of a union
        path.append(str(part))
        if field is None and part in block.model_fields:
            found = block.model_fields[part]
            inner = block_of(found.annotation)
            block, field = (inner, None) if inner else (block, found)
    key = ".".join(path)
    allowed = allowed_values(block) if field is None else allowed_values(field.annotation, field.metadata)
    if fault["type"] == "missing":
        return f"{key} is missing; allowed: {allowed}"
    if fault["type"] == "extra_forbidden":
        return f"{key} = {fault['input']!r}: unknown key; {'.'.join(path[:-1])} has {', '.join(block.model_fields)}"
    if fault["type"] == "value_error":
        return f"{key} = {fault['input']!r}: {fault['ctx']['error']}"
    return f"{key} = {fault['input']!r} is not allowed; allowed: {allowed}"
