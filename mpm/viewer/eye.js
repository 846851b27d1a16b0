// From where a 3-D picture is seen, and the plane that cuts it open.

const RIGHT_ANGLE = Math.PI / 2;
// Azimuth about the vertical axis and elevation, as in Picture. The first horizontal axis points to the right in front.
const EYES = {
  front: [-RIGHT_ANGLE, 0], back: [RIGHT_ANGLE, 0], left: [Math.PI, 0], right: [0, 0],
  top: [-RIGHT_ANGLE, 1.57], below: [-RIGHT_ANGLE, -1.57], isometric: [-Math.PI / 4, Math.atan(Math.SQRT1_2)],
};

const GRIP = 9; // radius of the handle of the plane, in pixels of the page
const AXES = { light: ["#b3261e", "#1b7f3b", "#2457c5"], dark: ["#ff8a80", "#7bd88f", "#8ab4ff"] };

class Eye {
  constructor(picture, find, redraw) {
    Object.assign(this, { picture, redraw });
    this.over = find(".mpm-over");
    this.bar = find("[data-part=eye]");
    const part = (name) => find(`[data-part=${name}]`);
    this.views = part("views");
    this.axis = part("cut");
    this.depth = part("depth");
    part("deep").addEventListener("change", (event) => { picture.deep = event.target.checked; redraw(); });
    this.views.append(...["free", ...Object.keys(EYES)].map((name) => new Option(name, name)));
    this.views.addEventListener("change", () => this.from(this.views.value));
    part("whole").addEventListener("click", () => { picture.look(); this.turned(); redraw(); });
    this.axis.append(new Option("none", ""), ...["x", "y", "z"].flatMap((axis, k) =>
      [new Option(`above ${axis}`, `${k}+`), new Option(`below ${axis}`, `${k}-`)]));
    for (const [input, event] of [[this.axis, "change"], [this.depth, "input"]])
      input.addEventListener(event, () => this.cut());
    picture.onTurn = () => this.turned();
    picture.onGrip = (x, y) => {
      const at = this.plane()?.middle;
      return Boolean(at) && Math.hypot(x - at[0], y - at[1]) <= GRIP + 4;
    };
    picture.onDrag = (dx, dy) => this.drag(dx, dy);
  }

  // The plane of the cut on the page: its corners, its middle, and where its axis points, in pixels per metre.
  plane() {
    const { picture } = this, { cut } = picture;
    if (!cut) return null;
    const { lower, upper } = picture.state.domain, [a, b] = [(cut.axis + 1) % 3, (cut.axis + 2) % 3];
    const point = (u, v, along = 0) => {
      const place = [0, 0, 0];
      place[cut.axis] = cut.at + along;
      place[a] = lower[a] + u * (upper[a] - lower[a]);
      place[b] = lower[b] + v * (upper[b] - lower[b]);
      return picture.onScreen(place);
    };
    const step = 0.001 * picture.extent[cut.axis]; // a short one: in perspective pixels per metre vary
    const middle = point(0.5, 0.5), ahead = point(0.5, 0.5, step);
    return {
      corners: [point(0, 0), point(1, 0), point(1, 1), point(0, 1)], middle,
      along: [(ahead[0] - middle[0]) / step, (ahead[1] - middle[1]) / step],
    };
  }

  // Moves the plane along its axis as the handle is dragged; seen along the axis, up and down.
  drag(dx, dy) {
    const [x, y] = this.plane().along, size2 = x * x + y * y, { picture } = this, { cut } = picture;
    const perMetre = (picture.fitting() * picture.zoom) / picture.ratio();
    const way = size2 > 0.02 * perMetre ** 2 ? (dx * x + dy * y) / size2 : -dy / perMetre;
    this.depth.value = Number(this.depth.value) + (100 * way) / picture.extent[cut.axis];
    this.cut();
  }

  // Axes in the corner, and the plane of the cut with its handle.
  draw(dark) {
    const { over, picture } = this, { canvas } = picture, ratio = picture.ratio();
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    [over.width, over.height] = [canvas.width, canvas.height];
    Object.assign(over.style, { width: `${width}px`, height: `${height}px` });
    const pen = over.getContext("2d"), colors = dark ? AXES.dark : AXES.light;
    pen.scale(ratio, ratio);
    pen.font = "600 11px system-ui, sans-serif";
    pen.lineWidth = 2;
    pen.lineCap = "round";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    if (picture.flat) return; // x to the right, y up: nothing to tell, and a corner to hide
    const rows = picture.rows(), long = 26, [left, low] = [36, height - 36];
    const axes = [0, 1, 2].map((k) => rows.map((row) => row[k]));
    // What points away from the eye comes first.
    for (const k of axes.map((_, axis) => axis).sort((i, j) => axes[i][2] - axes[j][2])) {
      const [right, up] = axes[k];
      pen.strokeStyle = pen.fillStyle = colors[k];
      pen.beginPath();
      pen.moveTo(left, low);
      pen.lineTo(left + long * right, low - long * up);
      pen.stroke();
      pen.fillText("xyz"[k], left + (long + 8) * right, low - (long + 8) * up);
    }
    const plane = this.plane();
    if (!plane || picture.runs.length > 1) return;
    const { corners, middle } = plane;
    pen.strokeStyle = pen.fillStyle = colors[picture.cut.axis];
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [x, y] of corners) pen.lineTo(x, y);
    pen.closePath();
    pen.globalAlpha = 0.08;
    pen.fill();
    pen.globalAlpha = 0.9;
    pen.stroke();
    pen.beginPath();
    pen.arc(middle[0], middle[1], GRIP, 0, 2 * Math.PI);
    pen.fill();
    pen.globalAlpha = 1;
  }

  // A new state: 2-D pictures are seen from one side.
  show() {
    this.bar.hidden = this.picture.flat;
    if (this.picture.flat) this.axis.value = "";
    this.cut();
  }

  from(name) {
    if (this.picture.flat || !EYES[name]) return;
    [this.picture.azimuth, this.picture.elevation] = EYES[name];
    this.views.value = name;
    this.redraw();
  }

  turned() { this.views.value = "free"; }

  // Hides what lies on one side of a plane across an axis.
  cut() {
    const [axis, side] = this.axis.value, { lower } = this.picture.state.domain;
    this.depth.disabled = this.depth.hidden = axis === undefined;
    this.picture.cut = null;
    if (axis !== undefined) {
      const at = lower[axis] + (Number(this.depth.value) / 100) * this.picture.extent[axis];
      this.picture.cut = { axis: Number(axis), sign: side === "+" ? 1 : -1, at };
      this.depth.title = `${"xyz"[axis]} = ${Number(at.toPrecision(3))} m`;
    }
    this.redraw();
  }
}
