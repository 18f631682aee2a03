// A served page follows runs that go on, and keeps what its reader looks at.

const POLL_MS = 2000;

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
