// Keys of the viewer, and the list of them that "?" shows.

const KEYS = [
  ["space", "play or pause"],
  ["← →", "one frame back or on; at the end of a run the next one is computed"],
  ["home, end", "the first frame, the last"],
  ["R", "reset"],
  ["1 … 9", "colour by the first to ninth quantity"],
  ["F", "full screen, and back"],
  ["X, Y, Z", "in 3-D: see from the right, the front, the top"],
  ["?", "show or hide this list"],
  ["escape", "close this list; release the particle"],
];
const MOUSE = [
  ["point", "the values of a particle"],
  ["click", "keep its values in view, or release it"],
  ["drag", "turn; shift in 2-D or with the shift key"],
  ["wheel", "zoom"],
  ["double click", "see the whole domain again"],
];

// What a key stands for: the name of an action and its number, or null where it belongs to a control or to the browser.
function actionOf(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const timeline = target.matches("[data-part=timeline]"); // whose own keys would not go beyond the last frame
  if (!timeline && target.matches("input:not([type=checkbox]), select, textarea")) return null;
  if (key === " ") return !timeline && target.matches("button, input") ? null : ["toggle"];
  const moves = { ArrowRight: "forward", ArrowLeft: "back", Home: "first", End: "last" };
  if (moves[key]) return [moves[key]];
  if (/^[1-9]$/.test(key)) return ["color", Number(key) - 1];
  if (key === "Escape") return ["close"];
  const actions = {
    r: ["reset"], f: ["full"], "?": ["help"], x: ["view", "right"], y: ["view", "front"], z: ["view", "top"],
  };
  return actions[key.toLowerCase()] || null;
}

function keyList() {
  const row = ([key, meaning]) => `<dt>${key}</dt><dd>${meaning}</dd>`;
  return `<dl>${[...KEYS, ...MOUSE].map(row).join("")}</dl>`;
}
