// What every part of the script uses. Texts of models reach the page through textContent only.

const data = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);

// Control, direction and invisible marks would hide or reorder what a model wrote: they are shown as escapes. Joiners, which
// scripts and emoji need, are not.
const HIDDEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const escaped = (c) => c.length > 1 ? `\\u{${c.codePointAt(0).toString(16)}}` : "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
const visible = (text) => String(text).replace(HIDDEN, escaped);

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const child of children) made.append(child instanceof Node ? child : visible(child));
  return made;
}

const shown = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
