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
"""The bookkeeping of the co-evolution loop: which tasks an epoch has, who attempts them, what they are worth.

Plain Python, no verl: the trainer moves tensors, this class decides. One epoch::

    requests(epoch) -> the environment writes -> begin_epoch(generations) -> batch(step), record(step, …) … -> judge()
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genenv_verl.config.settings import AlphaSettings, Settings
from genenv_verl.curriculum.alpha_schedule import AlphaSchedule
from genenv_verl.curriculum.difficulty import Attempts
from genenv_verl.curriculum.environment_reward import novelty_factor
from genenv_verl.curriculum.history import SuccessHistory
from genenv_verl.curriculum.verdicts import EpochVerdict, judge_epoch
from genenv_verl.pools.mixture import Mixture, refill
from genenv_verl.tasks.coverage import coverage, novelty_summary
from genenv_verl.tasks.generation import Rejection, count_rejections
from genenv_verl.tasks.near_duplicates import NoveltyIndex
from genenv_verl.tasks.novelty import SeenTasks, fingerprint
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt, TokenBudget
from genenv_verl.tasks.records import from_verl_row, to_verl_row
from genenv_verl.tasks.schema import Generator, Task
from genenv_verl.tasks.validity import ValidityFilter
from genenv_verl.tasks.writing import read_valid_task
from genenv_verl.trainer.generation import Attempt, Generation
from genenv_verl.trainer.run_directory import RunDirectory
from genenv_verl.trainer.trust_policy import TrustPolicy


def alpha_schedule(settings: AlphaSettings) -> AlphaSchedule:
    """The schedule that the ``genenv.alpha`` block describes."""
    if settings.schedule == "linear":
        return AlphaSchedule.linear(settings.start, settings.end, settings.epochs)
    if settings.schedule == "piecewise":
        return AlphaSchedule.piecewise(settings.points)
    return AlphaSchedule.constant(settings.start)


def steps_per_epoch(settings: Settings, seeds: int, batch_size: int) -> int:
    """Agent steps of an epoch: as configured, or as many as one pass over all seeds needs."""
    if settings.steps_per_epoch is not None:
        return settings.steps_per_epoch
    return max(1, math.ceil(seeds * settings.n_variations / (settings.mixture.fresh * batch_size)))


@dataclass(frozen=True)
class Request:
    """One task to be written: the seed's prompt, the name of the result and the request's own sampling seed."""

    task_id: str
    seed: Task
    messages: list[dict[str, str]]
    sampling_seed: int


@dataclass(frozen=True)
class BatchItem:
    """One prompt of an agent batch. ``origin`` is fresh, pool or base; ``row`` is in verl's format."""

    origin: str
    task_id: str
    row: dict[str, Any]


class CoEvolution:
    """State of the loop between two models. Everything in ``state_dict`` is part of the checkpoint.

    Args:
        settings: the ``genenv`` block.
        seeds: base data, one verl row a seed task (``prompt``, ``reward_model``, …), the prompt as the user wrote it.
        run: pools and files.
        batch_size: prompts of an agent step.
        make_validity_filter: builds the filter around the set of tasks already seen; it needs the agent's tokenizer.
        model_name: name of the environment's model, for the tasks' ``generator``.
        sampling: how the environment samples, for the same.
        prompt_budget: the limit of the environment's prompts; ``None``: none.
    """

    def __init__(
        self,
        settings: Settings,
        seeds: list[dict[str, Any]],
        run: RunDirectory,
        batch_size: int,
        make_validity_filter: Callable[[SeenTasks], ValidityFilter],
        model_name: str,
        sampling: dict[str, Any],
        prompt_budget: TokenBudget | None = None,
    ):
        self.settings = settings
        self.run = run
        self.batch_size = batch_size
        self.model_name = model_name
        self.sampling = sampling
        self.seed_rows = seeds
        self.seed_tasks = [from_verl_row(row) for row in seeds]
        self.steps_per_epoch = steps_per_epoch(settings, len(seeds), batch_size)
        self.alpha = alpha_schedule(settings.alpha)
        self.history = SuccessHistory(settings.history_decay)
        shares = {"base": settings.mixture.base, "pool": settings.mixture.pool, "fresh": settings.mixture.fresh}
        self.mixture = Mixture(shares, seed=settings.seed)
        # the order in which seeds are varied is independent of the order in which they are practised
        self.seed_order = Mixture(shares, seed=settings.seed + 1)
        self.trust = TrustPolicy(settings.trust)
        self.seen = SeenTasks()
        self.novelty = NoveltyIndex(self.seed_tasks, settings.novelty.near_duplicate)
        self.validity = make_validity_filter(self.seen)
        self.environment_prompt = EnvironmentPrompt(
            settings.environment_template, offer_checkers=settings.offer_checkers, budget=prompt_budget
        )
        self.agent_prompt = AgentPrompt(settings.agent_template)
        self.epoch = 0
        self.generations: list[Generation] = []
        self.plan: list[list[tuple[str, int]]] = []
        self._wanted: list[dict[str, int]] = []
        self.refilled = 0
        for task in self.seed_tasks:
            self.seen.add(fingerprint(task))

    # ------------------------------------------------------------------ writing

    def requests(self, epoch: int) -> list[Request]:
        """The tasks to ask for: every fresh place of the epoch's batches, ``n_variations`` a seed.

        Whole seeds only, so that every valid task finds its place; what is left over is filled from the pool.
        """
        self.novelty.begin_epoch(self.run.d_train)
        self._wanted = [self.mixture.counts(self.batch_size) for _ in range(self.steps_per_epoch)]
        n_seeds = max(1, sum(wanted["fresh"] for wanted in self._wanted) // self.settings.n_variations)
        alpha = self.alpha.at(epoch)
        requests = []
        visits: Counter[int] = Counter()
        for index in self.seed_order.draw_base(len(self.seed_tasks), n_seeds):
            seed = self.seed_tasks[index]
            messages = self.environment_prompt.messages(
                seed,
                seed_success=self.history.seed_success(seed.task_id),
                family_success=self.history.family_success(seed.family),
                overall_success=self.history.overall_success(),
                target_success=alpha,
            )
            for _ in range(self.settings.n_variations):
                variation = visits[index]
                visits[index] += 1
                sampling_seed = (self.settings.seed * 1_000_003 + epoch * 100_003 + len(requests)) % 2**31
                name = f"{seed.task_id}.e{epoch}.v{variation}"
                requests.append(Request(name, seed, messages, sampling_seed))
        return requests

    def read(
        self,
        request: Request,
        *,
        epoch: int,
        step: int,
        prompt_ids: list[int],
        response_ids: list[int],
        text: str,
        truncated: bool,
        problem: str | None = None,
    ) -> Generation:
        """Turns what the environment wrote into a valid task or a counted rejection.

        ``problem`` is the reason why nothing was sampled: ``seed_prompt_too_long`` or ``server_error``.
        """
        outcome: Task | Rejection
        novelty = None
        if not response_ids:
            outcome = Rejection(problem or "empty", "the environment wrote nothing")
        else:
            outcome, novelty = read_valid_task(
                text,
                seed=request.seed,
                task_id=request.task_id,
                epoch=epoch,
                generator=Generator(
                    model=self.model_name, step=step, sampling=self.sampling | {"seed": request.sampling_seed}
                ),
                truncated=truncated,
                success_threshold=self.settings.success_threshold,
                validity=self.validity,
                novelty=self.novelty,
            )
        if isinstance(outcome, Task):
            self.seen.add(fingerprint(outcome))
        return Generation(
            task_id=request.task_id,
            seed_id=request.seed.task_id,
            environment_step=step,
            prompt_ids=prompt_ids,
            response_ids=response_ids,
            text=text,
            outcome=outcome,
            novelty=novelty,
        )

    # ------------------------------------------------------------------ practising

    def begin_epoch(self, epoch: int, generations: list[Generation]) -> None:
        """Plans the epoch's batches: (a) base data, (b) earlier tasks of D_train, (c) the valid fresh tasks."""
        self.epoch = epoch
        self.generations = generations
        self.refilled = 0
        self.trust.forget()
        places = sum(wanted["fresh"] for wanted in self._wanted)
        fresh = [index for index, generation in enumerate(generations) if generation.task is not None][:places]
        # rejections are spread over the steps: none of them is left with old tasks only
        wanted_so_far = 0
        self.plan = []
        pool_size = len(self.run.d_train)
        for wanted in self._wanted:
            first = len(fresh) * wanted_so_far // max(1, places)
            wanted_so_far += wanted["fresh"]
            batch = [("fresh", index) for index in fresh[first : len(fresh) * wanted_so_far // max(1, places)]]
            split = refill(wanted, fresh_available=len(batch), pool_size=pool_size)
            self.refilled += split.fresh_missing
            batch += [("pool", index) for index in self.mixture.draw_pool(pool_size, split.counts["pool"])]
            batch += [("base", index) for index in self.mixture.draw_base(len(self.seed_rows), split.counts["base"])]
            self.plan.append(batch)

    def batch(self, step_in_epoch: int) -> list[BatchItem]:
        """The prompts of one agent step, ``step_in_epoch`` counted from 0."""
        return [self._item(origin, index) for origin, index in self.plan[step_in_epoch]]

    def _item(self, origin: str, index: int) -> BatchItem:
        if origin == "base":
            return BatchItem(origin, self.seed_tasks[index].task_id, self.seed_rows[index])
        if origin == "pool":
            task = Task.model_validate(self.run.d_train[index]["task"])
        else:
            task = self.generations[index].task
        return BatchItem(origin, task.task_id, to_verl_row(task, self.agent_prompt.messages(task), index=index))

    def record(self, step: int, items: list[BatchItem], attempts: list[list[Attempt]]) -> None:
        """Takes the attempts of one agent step. Valid traces of fresh tasks go into D_train at once,
        unless the attempts put the task into quarantine.

        Args:
            step: global agent step, counted from 1.
            items: the batch.
            attempts: for each item its attempts.
        """
        by_id = {generation.task_id: generation for generation in self.generations}
        traces = []
        for item, tries in zip(items, attempts, strict=True):
            if item.origin != "fresh":
                continue
            generation = by_id[item.task_id]
            generation.attempts, generation.step = tries, step
            scored = [attempt.to_json() for attempt in tries if attempt.scored]
            if scored and not self.trust.is_quarantined(generation):
                traces.append(
                    {"id": item.task_id, "epoch": self.epoch, "task": generation.task.model_dump(), "attempts": scored}
                )
        if traces:
            self.run.d_train.append(traces, step=step)

    # ------------------------------------------------------------------ judging

    def judge(self) -> EpochVerdict:
        """p̂, R_env, filter and weights of the epoch's fresh tasks; updates the statistics that condition the next."""
        verdict = self.verdict()
        self.history.update([generation.counted() for generation in self._attempted()])
        return verdict

    def verdict(self) -> EpochVerdict:
        """p̂, R_env, filter and weights of the fresh tasks that were attempted so far. Changes nothing."""
        attempted = self._attempted()
        counted = [generation.counted() for generation in attempted]
        settings = self.settings
        return judge_epoch(
            counted,
            epoch=self.epoch,
            alpha=self.alpha.at(self.epoch),
            beta=settings.beta,
            k_min=settings.k_min,
            granularity=settings.granularity,
            filter=settings.filter,
            min_accepted=settings.min_accepted,
            top_k=settings.top_k,
            objective=settings.objective,
            lam=settings.rwr.lam,
            weight=settings.rwr.weight,
            quarantined={generation.task_id for generation in attempted if self.trust.is_quarantined(generation)},
            reward_factors={generation.task_id: self._reward_factor(generation) for generation in attempted},
        )

    def _reward_factor(self, generation: Generation) -> float:
        similarity = generation.novelty.similarity if generation.novelty else 0.0
        return self.trust.reward_factor(generation) * novelty_factor(similarity, self.settings.novelty.lam_dup)

    def _attempted(self) -> list[Generation]:
        return [generation for generation in self.generations if generation.attempts]

    def training_set(self, verdict: EpochVerdict) -> list[tuple[Generation, float]]:
        """The accepted generations that have a weight, with it, in the order in which they were written."""
        pairs = zip(self._attempted(), verdict.tasks, strict=True)
        return [(generation, judged.weight) for generation, judged in pairs if judged.accepted and judged.weight != 0.0]

    def store_environment_records(self, verdict: EpochVerdict, step: int) -> None:
        """Appends the epoch's judged generations to D_env: (context, generation, p̂, R_env, weight, epoch)."""
        records = [
            {
                "id": generation.task_id,
                "epoch": self.epoch,
                "environment_step": generation.environment_step,
                "prompt_ids": generation.prompt_ids,
                "response_ids": generation.response_ids,
                "p_hat": judged.p_hat,
                "group_p_hat": judged.group_p_hat,
                "reward": judged.reward,
                "weight": judged.weight,
                "accepted": judged.accepted,
            }
            for generation, judged in zip(self._attempted(), verdict.tasks, strict=True)
            if judged.reward is not None
        ]
        if records:
            self.run.d_env.append(records, step=step)

    def task_records(self, verdict: EpochVerdict) -> list[dict[str, Any]]:
        """One line for every generation of the epoch: the task or the reason of rejection, and what it was worth."""
        judged = {task.task_id: task for task in verdict.tasks}
        records = []
        for generation in self.generations:
            record = generation.to_json()
            del record["prompt_ids"], record["response_ids"]
            task = judged.get(generation.task_id)
            counted: Attempts | None = generation.counted() if generation.attempts else None
            record |= {
                "epoch": self.epoch,
                "env_response_tokens": len(generation.response_ids),
                "successes": counted.successes if counted else None,
                "scored": counted.scored if counted else None,
                "p_hat": task.p_hat if task else None,
                "group_p_hat": task.group_p_hat if task else None,
                "reward": task.reward if task else None,
                "weight": task.weight if task else None,
                "accepted": task.accepted if task else False,
                **self.trust.task_fields(generation),
            }
            records.append(record)
        return records

    def summary(self, verdict: EpochVerdict) -> dict[str, Any]:
        """The curriculum's part of the epoch line."""
        attempts = [attempt for generation in self.generations for attempt in generation.attempts]
        scored = [attempt for attempt in attempts if attempt.scored]
        novelties = [generation.novelty for generation in self.generations if generation.novelty is not None]
        unique = sum(generation.is_unique for generation in self.generations)
        return {
            "alpha": verdict.alpha,
            "success_rate": sum(a.success for a in scored) / len(scored) if scored else None,
            "groups": verdict.groups,
            "accepted_groups": verdict.accepted_groups,
            "acceptance_rate": verdict.acceptance_rate,
            "fallback": verdict.fallback,
            "env_reward_mean": verdict.reward_mean,
            **count_rejections(generation.outcome for generation in self.generations),
            "unique_fraction": unique / len(novelties) if novelties else None,
            "novelty": novelty_summary(novelties),
            "coverage": coverage(generation.task for generation in self.generations if generation.task is not None),
            "refilled": self.refilled,
            "unscored": verdict.unscored,
            "zero_variance_groups": verdict.zero_variance_share,
            "p_hat_histogram": verdict.p_hat_histogram,
            "response_tokens_mean": sum(a.response_tokens for a in attempts) / len(attempts) if attempts else None,
            "d_train_size": len(self.run.d_train),
            "d_env_size": len(self.run.d_env),
            **self.trust.summary(self._attempted()),
            "warnings": self.warnings(verdict),
        }

    def warnings(self, verdict: EpochVerdict) -> list[str]:
        """What a person should look at, as sentences."""
        return [*verdict.warnings, *self.trust.warnings(self.epoch, self._attempted())]

    # ------------------------------------------------------------------ checkpoint

    def state_dict(self, *, finished: bool) -> dict[str, Any]:
        """JSON-safe state; of an epoch that is not ``finished`` its plan and the attempts so far, too."""
        return {
            "epoch": self.epoch,
            "generations": [] if finished else [generation.to_json() for generation in self.generations],
            "plan": [] if finished else self.plan,
            "refilled": self.refilled,
            "history": self.history.state_dict(),
            "mixture": self.mixture.state_dict(),
            "seed_order": self.seed_order.state_dict(),
            "seen": self.seen.state_dict(),
            "pools": self.run.marker(),
        }

    def load_state_dict(self, state: dict[str, Any], *, finished: bool) -> None:
        """Goes back to a checkpoint; pools and files are cut back to it.

        Args:
            state: from :meth:`state_dict`.
            finished: whether the checkpoint was taken after the epoch's last step, so that its line is in place.
        """
        self.trust.forget()
        self.epoch = state["epoch"]
        self.generations = [Generation.from_json(record) for record in state["generations"]]
        self.plan = [[(origin, index) for origin, index in batch] for batch in state["plan"]]
        self.refilled = state["refilled"]
        self.history.load_state_dict(state["history"])
        self.mixture.load_state_dict(state["mixture"])
        self.seed_order.load_state_dict(state["seed_order"])
        self.seen.load_state_dict(state["seen"])
        self.run.cut_back(state["pools"], self.epoch + 1 if finished else self.epoch)
        self._rebuild_novelty()

    def _rebuild_novelty(self) -> None:
        """The index of an uninterrupted run at this point: seeds, pool, and the valid tasks of an unfinished epoch."""
        unfinished = {generation.task_id for generation in self.generations}
        records = (record for record in self.run.d_train if record["id"] not in unfinished)
        self.novelty.rebuild(Task.model_validate(record["task"]) for record in records)
        for generation in self.generations:
            if generation.task is not None:
                self.novelty.add(generation.task)

    def start_afresh(self) -> None:
        """Begins with empty pools. What a run without a checkpoint left is set aside, not continued."""
        aside = self.run.set_aside()
        if aside is not None:
            print(f"genenv: no checkpoint to resume from; the pools that were there are kept in {aside}", flush=True)


def state_to_text(state: dict[str, Any]) -> str:
    """The state as JSON text; surrogates that a model wrote are escaped, so that any UTF-8 writer takes it."""
    return json.dumps(state, ensure_ascii=True)
