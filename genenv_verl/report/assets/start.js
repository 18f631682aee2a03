// Everything is defined: begin.

state.run = String(Number(state.run) in data.runs ? Number(state.run) : 0);
fill(byId("run"), data.runs.map((run, place) => [String(place), run.name]), state.run);
connect();
showControls();
showRun();
if (data.live) follow();
