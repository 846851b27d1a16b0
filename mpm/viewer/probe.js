// The particle under the pointer: found in the vertices of the frame, described by the kernel. A click pins it.

const REACH = 5; // pixels around a particle that is smaller

class Probe {
  // `ask(vertex, pinned)` has the kernel describe a particle, or none (null).
  constructor(picture, card, ring, ask) {
    Object.assign(this, { picture, card, ring, ask });
    this.vertex = null; // what was asked for last
    this.pinned = false;
    this.waits = false;
    this.particle = null;
    this.pointer = null;
    const canvas = picture.canvas;
    let pressed = null;
    canvas.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons || this.pinned) return;
      this.pointer = [event.clientX, event.clientY];
      this.look();
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      if (!this.pinned) this.want(null);
    });
    canvas.addEventListener("click", (event) => {
      if (pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 3) return; // it was turned
      const found = this.picture.pick(event.offsetX, event.offsetY, REACH);
      const again = this.pinned && found === this.vertex;
      this.pinned = found !== null && !again;
      this.vertex = undefined; // asks anew: a pinned particle has more to tell
      this.want(again ? null : found);
    });
  }

  // One request is under way; what is under the pointer by then is asked for when its answer is there. Called after
  // every drawing, too: particles move under a pointer that rests.
  look() {
    if (this.waits || this.pinned || !this.pointer) return;
    const box = this.picture.canvas.getBoundingClientRect();
    this.want(this.picture.pick(this.pointer[0] - box.left, this.pointer[1] - box.top, REACH));
  }

  want(vertex) {
    if (vertex === this.vertex) return;
    this.vertex = vertex;
    this.waits = true;
    this.ask(vertex, this.pinned);
  }

  release() {
    if (!this.pinned && !this.particle) return;
    this.pinned = false;
    this.pointer = null;
    this.want(null);
  }

  show(particle) {
    this.waits = false;
    this.particle = particle;
    if (!particle) {
      this.pinned = false;
      this.vertex = null;
    } else {
      const row = (name, value) => {
        const [term, text] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        text.textContent = value;
        return [term, text];
      };
      const known = [["row", particle.row], ["id", particle.id], ["body", particle.body]];
      const rows = [...known.filter(([, value]) => value !== null && value !== ""), ...particle.values];
      this.card.replaceChildren(...rows.flatMap(([name, value]) => row(name, value)));
      this.card.classList.toggle("mpm-pinned", this.pinned);
    }
    this.place();
    this.look();
  }

  // The ring around the particle, and the card beside it, where the picture shows them now.
  place() {
    const at = this.particle && this.picture.onScreen(this.particle.place);
    this.card.hidden = this.ring.hidden = !at;
    if (!at) return;
    const canvas = this.picture.canvas, [x, y] = at, size = Math.max(10, this.picture.diameter() + 4);
    Object.assign(this.ring.style, { left: `${x}px`, top: `${y}px`, width: `${size}px`, height: `${size}px` });
    const [wide, high] = [this.card.offsetWidth, this.card.offsetHeight], gap = size / 2 + 6;
    const left = x + gap + wide < canvas.clientWidth ? x + gap : Math.max(0, x - gap - wide);
    this.card.style.left = `${left}px`;
    this.card.style.top = `${Math.min(Math.max(0, y - high / 2), Math.max(0, canvas.clientHeight - high))}px`;
  }
}
