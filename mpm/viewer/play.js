// The playbar below the picture: buttons, the timeline, and fields for the frame and the time. It works alike for runs,
// whose frames so far the kernel keeps, and for recordings.

const ICONS = {
  first: "M3 3h2v10H3zM14 3v10L6 8z",
  back: "M11.5 3H13v10h-1.5zM10 3v10L3 8z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M3 3h1.5v10H3zM6 3v10l7-5z",
  last: "M11 3h2v10h-2zM2 3v10l8-5z",
};
const icon = (name) => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
const SPEEDS = [["0.1", "× 0.1"], ["0.25", "× ¼"], ["0.5", "× ½"], ["1", "× 1"], ["2", "× 2"], ["4", "× 4"], ["10", "× 10"]];

const PLAYBAR = `
<div class="mpm-playbar" data-part="playbar">
  <button data-part="first" aria-label="First" title="First frame (Home)">${icon("first")}</button>
  <button data-part="back" aria-label="Back" title="Previous frame (←)">${icon("back")}</button>
  <button data-part="play" class="mpm-main" aria-label="Play" title="Play (space)">${icon("play")}</button>
  <button data-part="pause" class="mpm-main" aria-label="Pause" title="Pause (space)" hidden>${icon("pause")}</button>
  <button data-part="forward" aria-label="Forward" title="Next frame; at the end of a run, compute it (→)">${icon("forward")}</button>
  <button data-part="last" aria-label="Last" title="Last frame: the present state of a run (End)">${icon("last")}</button>
  <input data-part="timeline" type="range" min="0" value="0" aria-label="Timeline">
  <label title="Frame">
    <input data-part="frame" inputmode="numeric" aria-label="Frame" spellcheck="false"><span data-part="frames"></span>
  </label><i></i>
  <label title="Time: shows the nearest frame">t <input data-part="time" inputmode="decimal" aria-label="Time" spellcheck="false"> s</label>
  <label><select data-part="speed" aria-label="Speed" title="Speed">${SPEEDS.map(([value, text]) =>
    `<option value="${value}">${text}</option>`).join("")}</select></label>
  <label class="mpm-tick" title="Start again after the last frame"><input data-part="loop" type="checkbox"> Loop</label>
</div>`;

class Playbar {
  constructor(find, send) {
    this.part = (name) => find(`[data-part=${name}]`);
    this.frame = null;
    const { part } = this;
    const buttons = {
      first: () => send("seek", { index: 0 }),
      back: () => send("move", { frames: -1 }),
      play: () => send("play"),
      pause: () => send("pause"),
      forward: () => send("move", { frames: 1 }),
      last: () => { if (this.frame) send("seek", { index: this.frame.frames - 1 }); },
    };
    for (const [name, action] of Object.entries(buttons)) part(name).addEventListener("click", action);
    part("timeline").addEventListener("input", (event) => send("seek", { index: Number(event.target.value) }));
    // What is no number goes as it is: the answer says what is allowed.
    const number = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
    const fields = {
      frame: (text) => { const k = number(text); send("seek", { index: typeof k === "number" ? k - 1 : k }); },
      time: (text) => send("time", { value: number(text) }),
    };
    for (const [name, action] of Object.entries(fields))
      part(name).addEventListener("change", (event) => {
        event.target.blur(); // what it shows is again the frame
        action(event.target.value.trim());
      });
    part("speed").addEventListener("change", (event) => send("speed", { value: Number(event.target.value) }));
    part("loop").addEventListener("change", (event) => send("loop", { on: event.target.checked }));
  }

  // A new state.
  show(state) {
    const focus = [this.part("play"), this.part("pause")].includes(document.activeElement);
    this.part("play").hidden = state.playing;
    this.part("pause").hidden = !state.playing;
    if (focus) this.part(state.playing ? "pause" : "play").focus(); // a hidden button would lose the keys
    this.part("loop").checked = state.loop;
    this.part("speed").value = String(state.speed);
    if (this.frame) this.move(this.frame, state);
  }

  // A new frame.
  move(frame, state) {
    this.frame = frame;
    const { part } = this, { index, frames, time } = frame, timeline = part("timeline");
    timeline.max = frames - 1;
    timeline.disabled = frames < 2;
    if (document.activeElement !== timeline || state.playing || index === frames - 1) timeline.value = index;
    for (const [name, text] of [["frame", index + 1], ["time", shown(time)]])
      if (document.activeElement !== part(name)) part(name).value = text;
    part("frames").textContent = `/ ${frames}`;
    part("first").disabled = part("back").disabled = index === 0;
    part("last").disabled = index === frames - 1;
    part("forward").disabled = Boolean(state.replay) && index === frames - 1;
  }
}
