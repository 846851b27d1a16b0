// Which bodies are seen, and in which colours: a choice of the page, which the kernel does not know.

const AS_PICTURES = "materials"; // in the list of colours, of those that are not by a scale

const OWN = [ // colours that differ in print and for most eyes (Okabe and Ito 2008), and grey
  ["by scale", null], ["as pictures", "own"], ["orange", "e69f00"], ["sky blue", "56b4e9"], ["green", "009e73"], ["yellow", "f0e442"],
  ["blue", "0072b2"], ["red", "d55e00"], ["purple", "cc79a7"], ["grey", "8a8f98"],
];

class Bodies {
  constructor(find, picture, redraw) {
    Object.assign(this, { picture, redraw });
    this.scale = find(".mpm-scale");
    this.box = find("[data-part=bodies]");
    this.list = find("[data-part=bodylist]");
  }

  // A new state: other bodies are all seen, by the colour scale.
  show(state) {
    const key = JSON.stringify(state.bodies);
    if (this.list.dataset.names === key) return;
    this.list.dataset.names = key;
    this.picture.bodies.clear();
    this.scale.hidden = false;
    this.box.hidden = !state.bodies.length;
    const rows = state.bodies.map(([name, own]) => this.row(name, own)), all = this.inks("Colour of all bodies");
    all.addEventListener("change", () => {
      for (const ink of this.list.querySelectorAll("select")) ink.value = all.value;
      for (const ink of this.list.querySelectorAll("select")) if (ink !== all) ink.dispatchEvent(new Event("change"));
    });
    this.all = all;
    const row = document.createElement("div");
    row.append("all", all);
    this.list.replaceChildren(row, ...rows);
  }

  // Have all bodies the colours of pictures, or those of the scale?
  paint(own) {
    if (!this.all || !this.list.childElementCount) return;
    this.all.value = OWN.findIndex(([, ink]) => ink === (own ? "own" : null));
    this.all.dispatchEvent(new Event("change"));
  }

  // Does no body show the scale?
  get own() {
    const { bodies } = this.picture;
    return this.list.childElementCount > 1 && bodies.size === this.list.childElementCount - 1 && [...bodies.values()].every(({ ink }) => ink);
  }

  inks(title) {
    const ink = document.createElement("select");
    ink.setAttribute("aria-label", title);
    ink.append(...OWN.map(([text], k) => new Option(text, k)));
    return ink;
  }

  row(name, own) {
    const row = document.createElement("div"), label = document.createElement("label");
    const tick = document.createElement("input"), ink = this.inks(`Colour of ${name}`);
    const text = document.createElement("span");
    Object.assign(tick, { type: "checkbox", checked: true });
    text.textContent = name;
    tick.setAttribute("aria-label", `Show ${name}`);
    const apply = () => {
      const chosen = OWN[ink.value][1], hex = chosen === "own" ? own : chosen;
      this.picture.bodies.set(name, { hidden: !tick.checked, ink: hex && fromHex(hex) });
      this.scale.hidden = this.own;
      this.redraw();
    };
    for (const control of [tick, ink]) control.addEventListener("change", apply);
    label.append(tick, text);
    row.append(label, ink);
    return row;
  }
}
