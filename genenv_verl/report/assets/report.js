"use strict";
// The task browser. Texts of models reach the page through textContent only.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const byId = (id) => document.getElementById(id);
  const ROW_HEIGHT = 44;
  const SEARCH_DELAY_MS = 120;
  const POLL_MS = 2000;

  // ---------------------------------------------------------------- elements

  // Control and direction marks would hide or reorder what a model wrote: they are shown as escapes.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const visible = (text) => String(text).replace(HIDDEN, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

  function element(tag, className, ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    for (const child of children) made.append(child instanceof Node ? child : visible(child));
    return made;
  }

  const shown = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));

  // ---------------------------------------------------------------- parts: base64 of gzip of JSON

  const arriving = new Map();
  window.genenvPart = (id, text) => arriving.get(id)?.(text);

  function partText(id) {
    const embedded = byId("part-" + id);
    if (embedded) return Promise.resolve(embedded.textContent);
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const settle = (act) => (value) => { arriving.delete(id); script.remove(); act(value); };
      arriving.set(id, settle(resolve));
      script.onload = settle(() => reject(new Error(`tasks/${id}.js is damaged.`)));
      script.onerror = settle(() => reject(new Error(`tasks/${id}.js is missing: keep the folder “tasks” beside this page.`)));
      script.src = `tasks/${id}.js` + (data.live ? "?" + data.version : "");
      document.head.append(script);
    });
  }

  async function loadPart(id) {
    const binary = atob(await partText(id));
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    if (!window.DecompressionStream) throw new Error("this browser cannot unpack the tasks; a version since 2023 can.");
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  // ---------------------------------------------------------------- state, kept in the address

  const DEFAULTS = { run: "0", epoch: "", q: "", status: "all", family: "", pMin: "", pMax: "", rMin: "", rMax: "",
    sort: "", dir: "1", task: "" };
  const state = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in state) state[key] = value;

  function keepState() {
    const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
    history.replaceState(null, "", "#" + (changed.length ? new URLSearchParams(changed) : "tasks"));
  }

  // ---------------------------------------------------------------- filter and sort

  const COLUMNS = [
    { key: "task", name: "Task", of: (row) => row.goal.toLowerCase() || row.id },
    { key: "family", name: "Family", of: (row) => row.family },
    { key: "p", name: "p̂", of: (row) => row.p },
    { key: "reward", name: "R_env", of: (row) => row.reward },
    { key: "status", name: "Status", of: (row) => statusText(row) },
  ];

  function statusText(row) {
    if (row.reason) return row.reason;
    if (row.quarantined) return "quarantined";
    return row.flags.join(", ") || (row.accepted ? "trained on" : row.attempts.length ? "attempted" : "not attempted");
  }

  function hasStatus(row, status) {
    const [kind, ...rest] = status.split(":");
    const name = rest.join(":");
    if (kind === "reason") return row.reason === name;
    if (kind === "flag") return row.flags.includes(name);
    return { all: true, valid: !row.reason, rejected: !!row.reason, accepted: row.accepted,
      quarantined: row.quarantined, flagged: row.flags.length > 0 }[kind] ?? true;
  }

  function haystack(row) {
    row.haystack ??= [row.id, row.seed, row.goal, row.gold, row.text, row.detail, ...row.attempts.map((a) => a.response)]
      .join("\n").toLowerCase();
    return row.haystack;
  }

  function within(value, min, max) {
    if (min === "" && max === "") return true;
    return value !== null && (min === "" || value >= Number(min) - 1e-9) && (max === "" || value <= Number(max) + 1e-9);
  }

  function chosenRows(rows) {
    const words = state.q.toLowerCase();
    const found = rows.filter((row) => hasStatus(row, state.status)
      && (!state.family || row.family === state.family.slice(1))
      && within(row.p, state.pMin, state.pMax) && within(row.reward, state.rMin, state.rMax)
      && (!words || haystack(row).includes(words)));
    const column = COLUMNS.find((its) => its.key === state.sort);
    if (!column) return found;
    const keyed = found.map((row) => [column.of(row), row]);
    const none = (value) => value === null || value === "";
    keyed.sort(([a], [b]) => none(a) || none(b) ? none(a) - none(b) : (a < b ? -1 : a > b ? 1 : 0) * Number(state.dir));
    return keyed.map(([, row]) => row);
  }

  // ---------------------------------------------------------------- list: only the rows in view exist

  let all = { rows: [] };
  let rows = [];
  let seeds = {};
  const list = byId("rows");
  const spacer = element("div");
  spacer.setAttribute("role", "presentation");

  function rowElement(row, index) {
    const status = statusText(row);
    const bar = element("i");
    bar.style.width = `${(row.p ?? 0) * 100}%`;
    const tone = row.reason ? "bad" : row.quarantined || row.flags.length ? "doubt" : row.accepted ? "good" : "";
    const made = element("div", "row",
      element("span", "task", row.goal || row.text || "(nothing)", element("small", "", row.id)),
      element("span", "family", row.family || "–"),
      element("span", "number", shown(row.p), element("span", "bar", bar)),
      element("span", "number reward", shown(row.reward)),
      element("span", tone, status));
    made.id = "row-" + index;
    made.style.top = `${index * ROW_HEIGHT}px`;
    made.setAttribute("role", "option");
    made.setAttribute("aria-posinset", index + 1);
    made.setAttribute("aria-setsize", rows.length);
    made.setAttribute("aria-selected", row.id === state.task);
    made.addEventListener("click", () => choose(index, true));
    return made;
  }

  let drawn = "";
  function drawRows(force) {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 6);
    const last = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + 6);
    if (!force && drawn === `${first}-${last}`) return;
    drawn = `${first}-${last}`;
    spacer.style.height = `${rows.length * ROW_HEIGHT}px`;
    const made = [spacer];
    for (let index = first; index < last; index++) made.push(rowElement(rows[index], index));
    if (!rows.length) made.push(element("p", "empty", all.rows.length ? "No task passes these filters." : "No tasks."));
    list.replaceChildren(...made);
    const active = chosenIndex();
    if (active >= first && active < last) list.setAttribute("aria-activedescendant", "row-" + active);
    else list.removeAttribute("aria-activedescendant");
  }

  const chosenIndex = () => rows.findIndex((row) => row.id === state.task);

  function choose(index, read) {
    if (!rows.length) return;
    index = Math.min(Math.max(index, 0), rows.length - 1);
    state.task = rows[index].id;
    const top = index * ROW_HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
    drawRows(true);
    drawDetail(rows[index]);
    keepState();
    if (read && matchMedia("(max-width: 64rem)").matches) byId("detail").scrollIntoView({ block: "start" });
  }

  list.addEventListener("keydown", (event) => {
    const page = Math.floor(list.clientHeight / ROW_HEIGHT);
    const at = chosenIndex();
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Enter" && at >= 0) byId("detail").focus();
    else if (to !== undefined) choose(to, false);
    else return;
    event.preventDefault();
  });
  byId("detail").addEventListener("keydown", (event) => { if (event.key === "Escape") list.focus(); });
  list.addEventListener("scroll", () => requestAnimationFrame(() => drawRows(false)), { passive: true });
  new ResizeObserver(() => drawRows(true)).observe(list);

  // ---------------------------------------------------------------- detail

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
    const seed = seeds[row.seed];
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

  // ---------------------------------------------------------------- controls

  function fill(select, options, value) {
    select.replaceChildren(...options.map(([key, name]) => {
      const option = element("option", "", name);
      option.value = key;
      return option;
    }));
    select.value = value;
    if (select.selectedIndex < 0 && options.length) select.selectedIndex = 0;
    return select.value;
  }

  function tally(values) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  }

  function fillFilters() {
    const count = (status) => all.rows.filter((row) => hasStatus(row, status)).length;
    const options = [["all", "all"], ["valid", "valid"], ["accepted", "trained on"], ["flagged", "with a flag"],
      ["quarantined", "quarantined"], ["rejected", "rejected"]].map(([key, name]) => [key, `${name} (${count(key)})`]);
    const flags = tally(all.rows.flatMap((row) => row.flags)).map(([flag, n]) => ["flag:" + flag, `flag: ${flag} (${n})`]);
    const reasons = tally(all.rows.map((row) => row.reason).filter(Boolean))
      .map(([reason, n]) => ["reason:" + reason, `rejected: ${reason} (${n})`]);
    options.push(...flags, ...reasons);
    // a filter outlives an epoch in which nothing passes it
    if (!options.some(([key]) => key === state.status)) options.push([state.status, `${state.status.replace(":", ": ")} (0)`]);
    fill(byId("status"), options, state.status);
    const families = tally(all.rows.filter((row) => !row.reason).map((row) => row.family))
      .map(([family, n]) => ["=" + family, `${family || "–"} (${n})`]);
    if (state.family && !families.some(([key]) => key === state.family)) families.push([state.family, `${state.family.slice(1)} (0)`]);
    fill(byId("family"), [["", "all"], ...families], state.family);
  }

  function drawColumns() {
    byId("columns").replaceChildren(...COLUMNS.map((column) => {
      const on = state.sort === column.key;
      const button = element("button", "", column.name + (on ? (state.dir === "1" ? " ↑" : " ↓") : ""));
      button.type = "button";
      button.dataset.sort = column.key;
      button.setAttribute("aria-pressed", on);
      button.setAttribute("aria-label", `Sort by ${column.name}` + (on ? (state.dir === "1" ? ", ascending now" : ", descending now") : ""));
      button.addEventListener("click", () => {
        if (on && state.dir === "-1") { state.sort = ""; state.dir = "1"; }
        else { state.dir = on ? "-1" : "1"; state.sort = column.key; }
        apply();
        byId("columns").querySelector(`[data-sort="${column.key}"]`).focus();
      });
      return button;
    }));
  }

  function apply() {
    rows = chosenRows(all.rows);
    const damage = [all.damaged && `${all.damaged} damaged lines in the task file are left out`,
      all.left_out && `${all.left_out} more generations are in the run's task file only`, all.error].filter(Boolean);
    byId("count").textContent = visible([`${rows.length.toLocaleString("en")} of ${all.rows.length.toLocaleString("en")} generations`,
      ...damage].join(" · "));
    drawColumns();
    if (chosenIndex() < 0) list.scrollTop = 0;
    drawRows(true);
    drawDetail(rows[chosenIndex()]);
    keepState();
  }

  let latest = 0;
  async function showEpoch() {
    const run = data.runs[Number(state.run)];
    const at = run.epochs.findIndex((its) => String(its) === state.epoch);
    byId("previous").disabled = at <= 0;
    byId("next").disabled = at < 0 || at >= run.epochs.length - 1;
    const mine = ++latest;
    all = { rows: [] };
    if (at >= 0) {
      byId("count").textContent = "Unpacking …";
      try {
        const [epoch, its] = await Promise.all([loadPart(`r${state.run}-e${state.epoch}`), runSeeds(state.run)]);
        if (mine !== latest) return;
        all = epoch;
        seeds = its;
      } catch (problem) {
        if (mine !== latest) return;
        all = { rows: [], error: `The tasks of this epoch cannot be shown: ${problem.message}` };
      }
    }
    fillFilters();
    apply();
    const chosen = chosenIndex();
    if (chosen >= 0) choose(chosen, false);
  }

  const seedsOf = new Map();
  function runSeeds(run) {
    if (!seedsOf.has(run)) seedsOf.set(run, data.runs[Number(run)].seeds ? loadPart(`r${run}-seeds`) : Promise.resolve({}));
    return seedsOf.get(run);
  }

  function showRun() {
    const epochs = data.runs[Number(state.run)].epochs;
    const options = epochs.map((epoch) => [String(epoch), `${epoch}`]);
    state.epoch = options.length ? fill(byId("epoch"), options, state.epoch || options.at(-1)[0]) : "";
    if (!options.length) fill(byId("epoch"), [["", "none"]], "");
    showEpoch();
  }

  const FIELDS = { status: "status", family: "family", "p-min": "pMin", "p-max": "pMax", "r-min": "rMin", "r-max": "rMax" };
  let waiting = 0;
  function connect() {
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    byId("run").addEventListener("change", (event) => { state.run = event.target.value; state.epoch = ""; showRun(); });
    byId("epoch").addEventListener("change", (event) => { state.epoch = event.target.value; showEpoch(); });
    for (const [id, step] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => {
      byId("epoch").selectedIndex += step;
      state.epoch = byId("epoch").value;
      showEpoch();
    });
    for (const [id, key] of Object.entries(FIELDS)) byId(id).addEventListener("input", (event) => { state[key] = event.target.value; apply(); });
    byId("search").addEventListener("input", (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { state.q = event.target.value; apply(); }, SEARCH_DELAY_MS);
    });
    byId("reset").addEventListener("click", () => {
      Object.assign(state, DEFAULTS, { run: state.run, epoch: state.epoch });
      showControls();
      fillFilters();
      apply();
    });
  }

  function showControls() {
    byId("search").value = state.q;
    for (const [id, key] of Object.entries(FIELDS)) byId(id).value = state[key];
  }

  // ---------------------------------------------------------------- live: the page follows a run that goes on

  function follow() {
    const opened = JSON.parse(sessionStorage.getItem("genenv-report") ?? "null");
    if (opened) for (const its of document.querySelectorAll("details[id]")) its.open = opened.details.includes(its.id);
    if (opened) scrollTo(0, opened.scroll);
    setInterval(async () => {
      try {
        const version = await (await fetch("version", { cache: "no-store" })).text();
        byId("live").textContent = "Following the run.";
        if (version === data.version) return;
        const details = [...document.querySelectorAll("details[id][open]")].map((its) => its.id);
        sessionStorage.setItem("genenv-report", JSON.stringify({ details, scroll: scrollY }));
        location.reload();
      } catch {
        byId("live").textContent = "The server has stopped: this is the last state.";
      }
    }, POLL_MS);
  }

  if (!(Number(state.run) in data.runs)) state.run = "0";
  fill(byId("run"), data.runs.map((run, place) => [String(place), run.name]), state.run);
  connect();
  showControls();
  showRun();
  if (data.live) follow();
})();
