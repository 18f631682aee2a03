// One generation beside its seed, with its gold and all attempts.

function facts(pairs) {
  const made = element("dl", "facts");
  for (const [name, value] of pairs) if (value !== "" && value !== "–")
    made.append(element("div", "", element("dt", "", name), element("dd", "", value)));
  return made;
}

function folded(title, text, open) {
  const made = element("details", "", element("summary", "", title), element("pre", "", text));
  made.open = open;
  return made;
}

function side(title, its) {
  const made = element("section", "", element("h4", "", title), element("pre", "", its.goal || "(no goal)"));
  if (its.gold) made.append(element("h4", "", "Gold"), element("pre", "", its.gold));
  for (const [name, text] of Object.entries(its.context)) made.append(folded(name, text, name === "constraints"));
  return made;
}

function attemptElement(attempt, index) {
  const tone = { success: "good", failure: "bad", unscored: "doubt" }[attempt.outcome];
  const rest = [attempt.score === null ? "" : `score ${shown(attempt.score)}`, attempt.reason,
    attempt.tokens === null ? "" : `${attempt.tokens} tokens`].filter(Boolean).map((text) => " · " + text);
  return element("div", "attempt",
    element("p", "", `${index + 1}. `, element("strong", tone, attempt.outcome), rest.join("")),
    element("pre", "", attempt.response || "(empty response)"));
}

function drawDetail(row) {
  const detail = byId("detail");
  if (!row) {
    detail.replaceChildren(element("p", "quiet", "Choose a task to see it beside its seed, with its gold and all attempts."));
    return;
  }
  const scored = row.attempts.filter((a) => a.outcome !== "unscored");
  const solved = scored.filter((a) => a.outcome === "success").length;
  const made = [
    element("h3", "", row.id || "(no id)"),
    facts([["status", statusText(row)], ["p̂", shown(row.p)], ["of its group", shown(row.group_p)],
      ["R_env", shown(row.reward, 3)], ["weight", shown(row.weight, 3)], ["family", row.family],
      ["agent step", shown(row.agent_step, 0)], ["written at step", shown(row.writer_step, 0)],
      ["flags", row.flags.join(", ")], ...Object.entries(row.trust), ...Object.entries(row.novelty)]),
  ];
  if (row.reason) made.push(element("p", "bad", `Rejected: ${row.reason}. ${row.detail}`));
  const seed = Object.hasOwn(seeds, row.seed) ? seeds[row.seed] : null;
  made.push(element("div", "beside",
    seed ? side(`Seed ${row.seed}`, seed)
      : element("section", "", element("h4", "", `Seed ${row.seed}`), element("p", "missing", "The seed's text is not at hand.")),
    row.goal ? side("Task", row) : element("section", "", element("h4", "", "Task"), element("p", "missing", "No task came of it."))));
  made.push(folded("What the environment wrote", row.text || "(nothing)", !!row.reason));
  if (row.attempts.length) made.push(element("h4", "", `Attempts: ${solved} of ${scored.length} scored ones succeed`),
    ...row.attempts.map(attemptElement));
  else if (!row.reason) made.push(element("p", "missing", "The agent has not attempted it."));
  detail.replaceChildren(...made);
  detail.scrollTop = 0;
}
