// The panels: what is shown of the state, and which message each control sends. Drawing is in Picture and Chart.

const MARKUP = `
<header data-part="scenes" hidden>
  <label class="mpm-scene">Scene <select data-send="scene" aria-label="Scene"></select></label>
  <span data-part="summary"></span>
</header>
<aside class="mpm-left">
  <form data-part="settings" autocomplete="off"></form>
</aside>
<main>
  <div class="mpm-bar">
    <button data-send="step" title="One time step">Step</button>
    <button data-send="reset" title="Start a new run with the settings shown (R)">Reset</button>
    <span class="mpm-gap"></span>
    <label>Colour <select data-send="color" aria-label="Colour"></select></label>
    <button data-part="shot" title="Save the picture as png">Picture</button>
    <button data-part="movie" title="Record the picture as a movie from now on; press again to end">Movie</button>
    <button data-part="full" title="Full screen (F)" >Full</button>
    <button data-part="help" title="Keys (?)" aria-label="Keys">?</button>
  </div>
  <div class="mpm-stage">
    <canvas class="mpm-picture" tabindex="0" aria-label="Particles"></canvas>
    <canvas class="mpm-over" aria-hidden="true"></canvas>
    <div class="mpm-scale"><b></b><i></i><ol></ol></div>
    <div class="mpm-runs" hidden></div>
    <div class="mpm-ring" hidden></div>
    <dl class="mpm-card" hidden></dl>
    <div class="mpm-keys" hidden></div>
    <div class="mpm-error" role="alert" hidden><span></span><button aria-label="Dismiss">✕</button></div>
  </div>
  ${PLAYBAR}
  <div class="mpm-bar mpm-ticks">
    <label data-lines="particles"><input type="checkbox"> Particle velocities</label>
    <label data-lines="grid"><input type="checkbox"> Grid velocities</label>
    <span class="mpm-gap"></span>
    <label>Map <select data-send="palette" aria-label="Colour map"></select></label>
    <label>from <input data-part="low" placeholder="auto" inputmode="decimal" aria-label="Lower limit"></label>
    <label>to <input data-part="high" placeholder="auto" inputmode="decimal" aria-label="Upper limit"></label>
  </div>
  <div class="mpm-bar mpm-ticks" data-part="eye" hidden>
    <label>View <select data-part="views" aria-label="View"></select></label>
    <label title="What is nearer looks larger"><input data-part="deep" type="checkbox"> Perspective</label>
    <label data-part="surfaced"><input type="checkbox"> Surface</label>
    <button data-part="whole" title="Show the whole domain (double click)">Whole</button>
    <span class="mpm-gap"></span>
    <label>Hide <select data-part="cut" aria-label="Hide"></select></label>
    <input data-part="depth" type="range" min="0" max="100" value="50" aria-label="Plane" disabled>
  </div>
  <details class="mpm-bodies" data-part="bodies" hidden>
    <summary>Bodies</summary>
    <div data-part="bodylist"></div>
  </details>
  <div class="mpm-bar mpm-ticks"><span class="mpm-status"></span></div>
  <div class="mpm-energy">
    <div class="mpm-legend"><select data-send="curve" aria-label="Curve"></select><span data-part="legend"></span></div>
    <canvas class="mpm-chart" aria-label="Curves"></canvas>
  </div>
</main>
<aside class="mpm-right">
  <section data-part="compare">
    <h4>Compare</h4>
    <label>Parameter <select data-part="parameter" aria-label="Parameter"></select></label>
    <div class="mpm-values" data-part="values"></div>
    <div class="mpm-row"><button data-part="comparing">Compare</button><button data-part="alone">End</button></div>
    <p data-part="differences"></p>
  </section>
  <section data-part="record">
    <h4>Record</h4>
    <label>File <input data-part="path" spellcheck="false"></label>
    <label title="The recording keeps this many frames per second of the time t below the picture, however long they take to compute">Frames per second of simulated time <input data-part="fps" type="number" min="0" step="any" aria-label="Frames per second"></label>
    <div class="mpm-row"><button data-send="record">Record</button><button data-send="stop">Stop</button></div>
    <p data-part="recorded"></p>
  </section>
  <section>
    <h4>Replay</h4>
    <label data-part="loadlabel">File <input data-part="load" spellcheck="false"></label>
    <div class="mpm-row"><button data-send="load">Load</button><button data-send="simulation">Simulation</button></div>
    <label class="mpm-sample">Sample <select data-send="sample" aria-label="Sample"></select></label>
  </section>
</aside>`;

// "rrggbb", and "rgb(255, 255, 255)" or "color(srgb 1 1 1)", as three numbers from 0 to 1.
const fromHex = (text) => [0, 2, 4].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
const fromStyle = (text) => text.match(/[\d.]+/g).slice(0, 3).map((value) => value / (text.startsWith("color") ? 1 : 255));
const bytes = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
// Four digits, and 1e7 for ten millions, which a narrow field has room for.
const shown = (value) => {
  const number = Number(value.toPrecision(4));
  return Math.abs(number) < 1e7 ? String(number) : number.toExponential().replace("+", "");
};

const POINTS = 20000; // of a curve at most, as in the session

const GONE = ["restarting", "autorestarting", "terminating", "dead"]; // statuses of a kernel

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "mpm-viewer";
  root.innerHTML = `<div class="mpm-grid">${MARKUP}</div><div class="mpm-line" role="status" hidden></div>`;
  el.append(root);
  const find = (selector) => root.querySelector(selector);
  const part = (name) => find(`[data-part=${name}]`);
  const control = (name) => find(`[data-send=${name}]`);
  const send = (type, values = {}) => {
    find(".mpm-error").hidden = true;
    tell({ type, ...values });
  };
  // A kernel that has gone is told of by its status.
  const tell = (message) => { try { model.send(message); } catch { /* there is no line */ } };

  let state = null, frame = null, curve = [], drawnAt = 0, drawnOn = "", waiting = false, pages = 1;
  let colors = [], dark = false, drawn = [], movie = null;
  const stage = find(".mpm-picture");
  const picture = new Picture(stage, redraw);
  const probe = new Probe(picture, find(".mpm-card"), find(".mpm-ring"),
    (vertex, pinned) => tell({ type: "probe", vertex, pinned }));
  const eye = new Eye(picture, find, redraw);
  const bodies = new Bodies(find, picture, redraw);
  const chart = new Chart(find(".mpm-chart"));
  const playbar = new Playbar(find, send);
  const comparison = new Comparison(find, picture, send, fail);
  if (!picture.gl) {
    fail("The viewer needs WebGL2, which this browser does not have.");
    return undefined;
  }

  // ---- drawing: once per refresh of the screen, however much has changed ----

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  function draw() {
    if (!state) return;
    const style = getComputedStyle(stage), background = fromStyle(style.backgroundColor);
    drawnOn = style.backgroundColor;
    dark = background[0] + background[1] + background[2] < 1.5;
    // Dark colours of the scale would drown in a dark page.
    const lift = (color, k) => color.map((value) => (dark ? value + (1 - k / 5) * 0.3 * (1 - value) : value));
    const shades = state.stops.map((stop, k) => lift(fromHex(stop), k));
    picture.draw(dark, shades, background);
    eye.draw(dark);
    probe.place();
    probe.look();
    colors = shades.map((color) => `rgb(${color.map((value) => Math.round(255 * value))})`);
    find(".mpm-scale i").style.background = `linear-gradient(to top, ${colors})`;
    if (movie && frame) movie.add(whole());
    chart.draw(curve, style.color, frame && (state.replay || frame.index < frame.frames - 1) ? frame.time : null);
    if (frame && !frame.drawn && !document.hidden) acknowledge(); // a hidden page asks for no more
  }

  // The next frame comes when this one is on the screen, and not before it is due.
  function acknowledge() {
    frame.drawn = true;
    drawn.push(performance.now());
    showRate();
    const number = frame.frame, pause = state.playing ? state.interval : 0;
    const left = Math.max(0, pause - (performance.now() - drawnAt));
    setTimeout(() => {
      drawnAt = performance.now();
      tell({ type: "drawn", frame: number });
    }, left);
  }

  // ---- messages ----

  function receive(message, buffers) {
    lost("");
    if (message.type === "pages") pages = message.count;
    if (message.type === "state") showState(message);
    if (message.type === "colliders") picture.fillColliders(message.parts, bytes(buffers[0]));
    if (message.type === "frame") showFrame(message, buffers[0]);
    if (message.type === "particle") probe.show(message.particle);
    if (message.type === "error") fail(message.text);
    redraw();
  }

  // Nobody answers: the page says so, and takes no orders until somebody does. No text: all is well.
  function lost(text) {
    find(".mpm-line").hidden = !text;
    find(".mpm-line").textContent = text;
    find(".mpm-grid").inert = Boolean(text);
  }

  // The line of a notebook's widget to its kernel has changed; if it is there, it answers.
  function liveOrNot() {
    lost("The kernel has stopped or was restarted: run the cell again.");
    tell({ type: "ready" });
  }

  // Frames that were drawn within the last second.
  function showRate() {
    drawn = drawn.filter((time) => performance.now() - time < 1000);
    const rate = state.playing && drawn.length > 1 ? ` · ${drawn.length} frames/s` : "";
    const others = pages > 1 ? ` · shown by ${pages} pages` : "";
    find(".mpm-status").textContent =
      `t = ${shown(frame.time)} s · step ${frame.steps} · ${frame.particles.toLocaleString("en")} particles${rate}${others}`;
  }

  // What is written beside the colour scale, from below: the materials where it has a colour for each.
  function marks(low, high) {
    const names = state.materials;
    if (names.length > 1 && low === 0 && high === names.length - 1) return [...names];
    return [0, 0.25, 0.5, 0.75, 1].map((share) => shown(low + share * (high - low)));
  }

  // The drawing of this moment with its colour scale.
  function whole() {
    const [low, high] = frame.limits, label = find(".mpm-scale b").textContent;
    const labels = state.comparison ? state.comparison.labels : [];
    const { across, down } = picture, background = drawnOn;
    return composed(stage, find(".mpm-over"), { colors: bodies.own ? [] : colors, marks: marks(low, high), label, labels, across, down, time: frame.time, dark, background });
  }

  function save() {
    if (!frame) return;
    draw();
    const name = `mpm-${shown(frame.time)}.png`;
    whole().toBlob((blob) => download(blob, name));
  }

  function film() {
    if (!frame) return;
    if (movie) return movie.stop();
    draw();
    try {
      movie = new Movie(whole(), (blob, suffix) => {
        movie = null;
        part("movie").textContent = "Movie";
        download(blob, `mpm.${suffix}`);
      });
      part("movie").textContent = "End movie";
    } catch (error) {
      fail(error.message);
    }
  }

  function fail(text) {
    find(".mpm-error").hidden = false;
    find(".mpm-error span").textContent = text;
  }

  function showFrame(message, data) {
    frame = message;
    picture.fill(message.parts, message.runs, bytes(data));
    const last = curve[curve.length - 1], [point] = message.point;
    if (!state.replay && point && (!last || point[0] > last[0])) curve.push(point);
    if (curve.length > POINTS) curve = curve.filter((row, k) => k % 2 === 0 || k === curve.length - 1);
    showRate();
    const [low, high] = message.limits;
    find(".mpm-scale ol").replaceChildren(...marks(low, high).reverse().map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    playbar.move(message, state);
    if (state.recording)
      part("recorded").textContent = `● ${message.recorded} ${message.recorded === 1 ? "frame" : "frames"} in ${state.recording}, one every ${shown(1 / state.recordingFps)} s of simulated time`;
  }

  function showState(message) {
    const before = state;
    state = message;
    curve = [...message.curve];
    picture.show(message);
    eye.show();
    bodies.show(message);
    root.classList.toggle("mpm-only-replay", !message.simulation);
    root.classList.toggle("mpm-comparing", Boolean(message.comparison));
    showSettings(before);
    const own = message.bodies.length ? [[AS_PICTURES, "as pictures"]] : [];
    fillList(control("color"), [...own, ...message.colors], bodies.own ? AS_PICTURES : message.color);
    fillList(control("scene"), message.scenes.map(([name]) => [name, name]), message.scene);
    part("scenes").hidden = !message.scenes.length;
    part("summary").textContent = message.replay
      ? `Recording: ${message.replay.path}`
      : (message.scenes.find(([name]) => name === message.scene) || ["", ""])[1];
    find(".mpm-scale b").textContent = message.colors.find(([name]) => name === message.color)[1];
    for (const label of root.querySelectorAll("[data-lines]")) {
      const box = label.querySelector("input");
      box.checked = message.lines[label.dataset.lines];
      box.disabled = !message.linesOffered.includes(label.dataset.lines);
    }
    const around = part("surfaced").querySelector("input");
    [around.checked, around.disabled] = [message.surface, !message.surfaceOffered];
    part("surfaced").title = message.surfaceOffered ? "Draw particles as closed surfaces" : "Needs particles, and the extra: surface";
    fillList(control("palette"), message.palettes.map((name) => [name, name]), message.palette);
    fillList(control("curve"), message.curves, message.curveName);
    // The list offers, and does not say what is shown: choosing the same again loads it again.
    fillList(control("sample"), [["", "choose …"], ...message.samples], "");
    const key = JSON.stringify(message.curveLines), legend = part("legend");
    if (legend.dataset.names !== key) {
      legend.dataset.names = key;
      legend.replaceChildren(...message.curveLines.map((name, k) => {
        const entry = document.createElement("span");
        entry.textContent = name;
        entry.style.setProperty("--color", CURVES[k % CURVES.length]);
        return entry;
      }));
    }
    ["low", "high"].forEach((name, k) => {
      if (document.activeElement !== part(name)) part(name).value = message.limits ? shown(message.limits[k]) : "";
    });
    playbar.show(message);
    comparison.show(message);
    if (frame) showRate();
    showButtons();
    if (!before || before.path !== message.path) part("path").value = message.path;
    if (!part("load").value || (before && before.recording && !message.recording))
      part("load").value = before && before.recording ? before.recording : message.path;
    if (!before) part("fps").value = message.fps;
    if (before && before.recording && !message.recording)
      part("recorded").textContent = `Saved ${before.recording}`;
  }

  function showButtons() {
    const able = {
      step: true, reset: true,
      record: !state.recording && !state.replay && !state.comparison, stop: Boolean(state.recording),
      load: true, simulation: Boolean(state.replay || state.comparison) && state.simulation,
    };
    for (const [name, possible] of Object.entries(able)) control(name).disabled = !possible;
    root.classList.toggle("mpm-recording", Boolean(state.recording));
  }

  function fillList(list, entries, chosen) {
    const key = JSON.stringify(entries);
    if (list.dataset.entries !== key) {
      list.dataset.entries = key;
      list.replaceChildren(...entries.map(([value, label]) => new Option(label, value)));
    }
    list.value = chosen;
  }

  // ---- settings: built anew only if there are others, so that a field keeps the cursor ----

  function showSettings(before) {
    const keys = (of) => JSON.stringify([of.replay?.summary, of.settings.map(({ key, group, unit, choices, live }) => [key, group, unit, choices, live])]);
    const form = part("settings");
    if (!before || keys(before) !== keys(state)) form.replaceChildren(...(state.replay ? facts() : groups()));
    for (const setting of state.settings) {
      const input = form.querySelector(`[data-key="${setting.key}"]`);
      if (setting.choices.length) input.value = setting.value;
      else if (document.activeElement !== input || !input.classList.contains("mpm-editing"))
        input.value = setting.value === null ? "" : Number(setting.value.toPrecision(12));
      input.closest("label").classList.toggle("mpm-changed", setting.changed);
    }
    root.classList.toggle("mpm-pending", state.settings.some((setting) => setting.changed));
  }

  // A recording has no settings: what it says of its simulation stands in their place.
  function facts() {
    const [group, title, text] = ["fieldset", "legend", "p"].map((name) => document.createElement(name));
    title.textContent = `Recording · ${state.replay.path.split("/").pop()}`;
    text.textContent = state.replay.summary;
    text.className = "mpm-facts";
    group.append(title, text);
    return [group];
  }

  function groups() {
    const names = [...new Set(state.settings.map((setting) => setting.group))], note = document.createElement("p");
    note.className = "mpm-facts mpm-note";
    note.textContent = "↺ takes effect with Reset; other values change the run";
    return [note, ...names.map((name) => {
      const group = document.createElement("fieldset"), title = document.createElement("legend");
      title.textContent = name;
      group.append(title, ...state.settings.filter((setting) => setting.group === name).map(field));
      return group;
    })];
  }

  function field(setting) {
    const label = document.createElement("label"), listed = setting.choices.length > 0;
    const input = document.createElement(listed ? "select" : "input");
    const [name, unit] = [document.createElement("span"), document.createElement("small")];
    name.textContent = setting.name.replaceAll("_", " ");
    unit.textContent = setting.unit === "1" ? "" : setting.unit;
    if (listed) input.append(...setting.choices.map((choice) => new Option(choice, choice)));
    else Object.assign(input, { type: "text", inputMode: "decimal", placeholder: setting.optional ? "auto" : "" });
    label.classList.toggle("mpm-choice", listed);
    input.dataset.key = setting.key;
    input.setAttribute("aria-label", setting.name);
    const when = setting.live ? "" : "takes effect with Reset";
    label.title = [setting.meaning, setting.allowed, when].filter(Boolean).join("; ");
    label.classList.toggle("mpm-later", !setting.live);
    label.append(name, input, unit);
    if (listed) {
      input.addEventListener("change", () => send("set", { key: setting.key, value: input.value }));
      return label;
    }
    input.addEventListener("input", () => input.classList.add("mpm-editing"));
    input.addEventListener("change", () => {
      input.classList.remove("mpm-editing");
      const text = input.value.trim(), number = Number(text);
      // What is no number goes as it is: the answer says what is allowed.
      send("set", { key: setting.key, value: text === "" ? null : Number.isFinite(number) ? number : text });
    });
    return label;
  }

  // ---- controls ----

  for (const name of ["step", "reset", "stop", "simulation"])
    control(name).addEventListener("click", () => send(name));
  control("record").addEventListener("click", () =>
    send("record", { path: part("path").value, fps: Number(part("fps").value) }));
  control("load").addEventListener("click", () => send("load", { path: part("load").value }));
  control("color").addEventListener("change", (event) => {
    bodies.paint(event.target.value === AS_PICTURES);
    if (event.target.value !== AS_PICTURES) send("color", { name: event.target.value });
  });
  for (const name of ["scene", "palette", "curve", "sample"])
    control(name).addEventListener("change", (event) => send(name, { name: event.target.value }));
  for (const label of root.querySelectorAll("[data-lines]"))
    label.addEventListener("change", (event) => send("show", { what: label.dataset.lines, on: event.target.checked }));
  part("surfaced").addEventListener("change", (event) => send("surface", { on: event.target.checked }));
  part("settings").addEventListener("submit", (event) => event.preventDefault());
  find(".mpm-error button").addEventListener("click", () => { find(".mpm-error").hidden = true; });
  for (const name of ["low", "high"])
    part(name).addEventListener("change", () => {
      // One end alone is set beside the other as it is now; without both, the scale is automatic.
      const texts = ["low", "high"].map((end) => part(end).value.trim());
      if (!texts[0] && !texts[1]) return send("limits", { low: null, high: null });
      const ends = texts.map((text, k) => (text ? Number(text) : frame.limits[k]));
      return send("limits", { low: ends[0], high: ends[1] });
    });

  function fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else root.requestFullscreen().catch(() => fail("The browser does not allow full screen for this page."));
  }

  const actions = {
    toggle: () => send(state.playing ? "pause" : "play"),
    forward: () => send("move", { frames: 1 }),
    back: () => send("move", { frames: -1 }),
    first: () => send("seek", { index: 0 }),
    last: () => { if (frame) send("seek", { index: frame.frames - 1 }); },
    reset: () => send("reset"),
    color: (k) => {
      if (!state.colors[k]) return;
      bodies.paint(false);
      send("color", { name: state.colors[k][0] });
    },
    full: fullScreen,
    view: (name) => eye.from(name),
    help: () => { find(".mpm-keys").hidden = !find(".mpm-keys").hidden; },
    close: () => { find(".mpm-keys").hidden = true; probe.release(); },
  };
  find(".mpm-keys").innerHTML = keyList();
  part("help").addEventListener("click", actions.help);
  part("full").addEventListener("click", fullScreen);
  part("shot").addEventListener("click", save);
  part("movie").addEventListener("click", film);
  root.tabIndex = -1; // a click anywhere gives the keys to the viewer
  // Notebooks have shortcuts for single keys: not while typing here.
  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const action = state && actionOf(event);
    if (!action) return;
    event.preventDefault();
    actions[action[0]](action[1]);
  });

  const sizes = new ResizeObserver(() => {
    if (state) picture.fit();
    redraw();
  });
  sizes.observe(root);
  // No event says that a notebook has another theme.
  const theme = setInterval(() => { if (getComputedStyle(stage).backgroundColor !== drawnOn) redraw(); }, 500);
  stage.addEventListener("webglcontextlost", () => fail("The browser has lost the picture (WebGL): run the cell again."));
  // The status of the kernel, which JupyterLab knows: one that has died and was started again has no line to break.
  const kernel = model.widget_manager?.context?.sessionContext?.statusChanged;
  const told = (context, status) => { if (GONE.includes(status)) liveOrNot(); };
  kernel?.connect(told);
  const heard = { "msg:custom": receive, line: lost, comm_live_update: liveOrNot };
  for (const [name, listener] of Object.entries(heard)) model.on(name, listener);
  document.addEventListener("visibilitychange", redraw);
  tell({ type: "ready" });
  return () => {
    for (const [name, listener] of Object.entries(heard)) model.off(name, listener);
    document.removeEventListener("visibilitychange", redraw);
    kernel?.disconnect(told);
    if (movie) movie.stop();
    sizes.disconnect();
    clearInterval(theme);
  };
}

export default { render };
