// The tasks of an epoch: base64 of gzip of JSON, in the page or in a file beside it.

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
