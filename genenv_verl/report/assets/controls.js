// The controls above the list.

const SEARCH_DELAY_MS = 120;

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
  const damage = [all.damaged && `${all.damaged} damaged ${all.damaged === 1 ? "line" : "lines"} in the task file left out`,
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
      // ids may be missing or doubled in a damaged file; the place in it is not
      all.rows.forEach((row, place) => { row.place = String(place); });
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

function goToEpoch() {
  state.epoch = byId("epoch").value;
  state.task = "";
  showEpoch();
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
  byId("run").addEventListener("change", (event) => { state.run = event.target.value; state.epoch = state.task = ""; showRun(); });
  byId("epoch").addEventListener("change", goToEpoch);
  for (const [id, step] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => {
    byId("epoch").selectedIndex += step;
    goToEpoch();
    if (byId(id).disabled) byId("epoch").focus(); // a button that goes out of use would lose the keyboard's place
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
  for (const [id, key] of Object.entries(FIELDS)) {
    byId(id).value = state[key];
    if (byId(id).type === "number") state[key] = byId(id).value; // what is no number in the address is no filter
  }
}
