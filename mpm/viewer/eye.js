// From where a 3-D picture is seen, and the plane that cuts it open.

const RIGHT_ANGLE = Math.PI / 2;
// Azimuth about the vertical axis and elevation, as in Picture. The first horizontal axis points to the right in front.
const EYES = {
  front: [-RIGHT_ANGLE, 0], back: [RIGHT_ANGLE, 0], left: [Math.PI, 0], right: [0, 0],
  top: [-RIGHT_ANGLE, 1.57], below: [-RIGHT_ANGLE, -1.57], isometric: [-Math.PI / 4, Math.atan(Math.SQRT1_2)],
};

class Eye {
  constructor(picture, find, redraw) {
    Object.assign(this, { picture, redraw });
    this.bar = find("[data-part=eye]");
    const part = (name) => find(`[data-part=${name}]`);
    this.views = part("views");
    this.axis = part("cut");
    this.depth = part("depth");
    this.views.append(...["free", ...Object.keys(EYES)].map((name) => new Option(name, name)));
    this.views.addEventListener("change", () => this.from(this.views.value));
    part("whole").addEventListener("click", () => { picture.look(); this.turned(); redraw(); });
    this.axis.append(new Option("none", ""), ...["x", "y", "z"].flatMap((axis, k) =>
      [new Option(`above ${axis}`, `${k}+`), new Option(`below ${axis}`, `${k}-`)]));
    for (const [input, event] of [[this.axis, "change"], [this.depth, "input"]])
      input.addEventListener(event, () => this.cut());
    picture.onTurn = () => this.turned();
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
    this.depth.disabled = axis === undefined;
    this.picture.cut = null;
    if (axis !== undefined) {
      const at = lower[axis] + (Number(this.depth.value) / 100) * this.picture.extent[axis];
      this.picture.cut = { axis: Number(axis), sign: side === "+" ? 1 : -1, at };
      this.depth.title = `${"xyz"[axis]} = ${Number(at.toPrecision(3))} m`;
    }
    this.redraw();
  }
}
