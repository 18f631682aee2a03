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
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"


def epoch_line(epoch: int, **changes: Any) -> dict[str, Any]:
    """An epoch line as the trainer writes it, shortened."""
    return {
        "epoch": epoch, "global_step": 4 * (epoch + 1), "variant": "genenv", "alpha": 0.5,
        "success_rate": 0.1 + 0.1 * epoch, "success_rate_trusted": 0.2 + 0.1 * epoch, "groups": 10,
        "accepted_groups": 5, "acceptance_rate": 0.2, "fallback": False, "env_reward_mean": 0.4, "generated": 12,
        "valid": 10, "valid_fraction": 10 / 12, "unique_fraction": 0.9, "unscored": 0, "warnings": [],
        "invalid_reasons": {"not_json": 1, "duplicate": 1}, "p_hat_histogram": [4, 0, 0, 2, 0, 2, 0, 0, 0, 2],
        "response_tokens_mean": 20.0, "d_train_size": 10, "d_env_size": 10,
        "trust": {"suspected_wrong_gold": 1, "ambiguous": 0, "lucky": 2, "quarantined": 1, "chance_level_mean": 0.1},
        "novelty": {"parsed": 11, "repeated": 1, "same_template": 3, "similarity_mean": 0.5,
                    "seed_distance": {"mean": 0.6, "median": 0.6}},
        "coverage": {"families": 2, "families_effective": 1.8, "tools": 3, "tools_effective": 2.5},
        "env_update": {"updates": 3, "kl_initial": 0.02, "kl_step": 0.01},
        "tokens": {"env_generate": 100, "env_train": 200, "agent_generate": 1000, "agent_train": 1500},
        "seconds": {"env_generate": 1.0, "agent": 20.0, "env_update": 2.0, "checkpoint": 0.5, "total": 24.0},
        **changes,
    }  # fmt: skip


def task_line(place: int, epoch: int = 0, **changes: Any) -> dict[str, Any]:
    """A valid generation with four attempts, one of them unscored; p̂ and R_env follow ``place``."""
    task_id = f"seed-{place % 3}.e{epoch}.v{place}"
    attempt = {"response": f"answer {place}", "score": 0.0, "success": False, "scored": True, "reason": "wrong_tool",
               "response_tokens": 7, "prompt_tokens": 4}  # fmt: skip
    return {
        "task_id": task_id, "seed_id": f"seed-{place % 3}", "environment_step": 4,
        "text": json.dumps({"goal": f"goal {place}"}),
        "task": {
            "version": 1, "task_id": task_id, "seed_id": f"seed-{place % 3}", "family": f"family-{place % 2}",
            "context": {"goal": f"goal {place}", "tools": [{"type": "function", "function": {"name": "ring"}}]},
            "evaluation": {"kind": "exact_match", "success_threshold": 1.0},
            "gold_action": [{"name": "ring", "arguments": {"n": str(place)}}],
        },
        "rejection": None,
        "attempts": [attempt, {**attempt, "success": True, "score": 1.0, "reason": "correct"}, attempt,
                     {**attempt, "scored": False, "reason": "checker_timeout"}],
        "step": 5, "epoch": epoch, "p_hat": place % 9 / 8, "group_p_hat": 0.5, "reward": place % 7 / 6, "weight": 1.0,
        "accepted": True, "trust": {"flags": ["lucky"] if place % 5 == 0 else [], "chance_level": 0.25},
        "quarantined": False, **changes,
    }  # fmt: skip


def rejected_line(place: int, reason: str, text: str) -> dict[str, Any]:
    return {"task_id": f"seed-0.e0.r{place}", "seed_id": "seed-0", "environment_step": 4, "text": text, "task": None,
            "rejection": {"reason": reason, "detail": text[:40]}, "attempts": [], "step": None, "epoch": 0,
            "p_hat": None, "reward": None, "weight": None, "accepted": False}  # fmt: skip


@pytest.fixture
def lines() -> SimpleNamespace:
    """The makers of lines above, and a hostile text."""
    return SimpleNamespace(epoch=epoch_line, task=task_line, rejected=rejected_line, hostile=HOSTILE)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run directory and returns it."""

    def make(
        name: str = "run",
        epochs: Sequence[dict[str, Any]] = (),
        tasks: dict[int, Sequence[dict[str, Any]]] | None = None,
        config: str | None = None,
        metrics: Sequence[dict[str, Any]] = (),
    ) -> Path:
        root = tmp_path / name
        (root / "genenv" / "tasks").mkdir(parents=True)
        (root / "genenv" / "epochs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in epochs))
        for epoch, records in (tasks or {}).items():
            text = "".join(json.dumps(record) + "\n" for record in records)
            (root / "genenv" / "tasks" / f"epoch_{epoch:04d}.jsonl").write_text(text)
        if config is not None:
            (root / "hydra" / ".hydra").mkdir(parents=True)
            (root / "hydra" / ".hydra" / "config.yaml").write_text(config)
        if metrics:
            (root / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in metrics))
        return root

    return make
