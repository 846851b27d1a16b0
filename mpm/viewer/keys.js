// Keys of the viewer, and the list of them that "?" shows.

const KEYS = [
  ["space", "play or pause"],
  ["← →", "previous or next frame; at the end of a run, → computes the next one"],
  ["home, end", "first or last frame"],
  ["R", "reset the run"],
  ["1 … 9", "colour by the first to the ninth quantity"],
  ["F", "full screen on or off"],
  ["X, Y, Z", "in 3-D: view from the right, the front or the top"],
  ["?", "show or hide this list"],
  ["escape", "close this list; stop following the particle"],
];
const MOUSE = [
  ["hover", "show the values of a particle"],
  ["click", "follow the particle, or stop following it"],
  ["drag", "turn; move in 2-D or with the shift key"],
  ["wheel", "zoom"],
  ["double click", "show the whole domain"],
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
