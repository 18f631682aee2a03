// What every part of the script uses. Texts of models reach the page through textContent only.

const data = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);

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
