// The list of generations: only the rows in view exist. The chosen one is shown beside it.

const ROW_HEIGHT = 44;

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
  made.setAttribute("aria-selected", row.place === state.task);
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

const chosenIndex = () => rows.findIndex((row) => row.place === state.task);

function choose(index, read) {
  if (!rows.length) return;
  index = Math.min(Math.max(index, 0), rows.length - 1);
  state.task = rows[index].place;
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
