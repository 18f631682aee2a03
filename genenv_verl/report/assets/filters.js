// Which generations are listed, and in which order; kept in the page's address.

const DEFAULTS = { run: "0", epoch: "", q: "", status: "all", family: "", pMin: "", pMax: "", rMin: "", rMax: "",
  sort: "", dir: "1", task: "" };
const state = { ...DEFAULTS };
for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in state) state[key] = value;

function keepState() {
  const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  history.replaceState(null, "", "#" + (changed.length ? new URLSearchParams(changed) : "tasks"));
}

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
