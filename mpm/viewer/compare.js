// A parameter of which some values are to be compared, and the names of the runs in the picture.

const COMPARED = 4; // values at most

class Comparison {
  constructor(find, picture, send, fail) {
    Object.assign(this, { find, picture, send, fail, state: null });
    picture.onFit = () => this.place();
    const part = (name) => find(`[data-part=${name}]`);
    this.section = part("compare");
    this.list = part("parameter");
    this.values = part("values");
    this.end = part("alone");
    this.differences = part("differences");
    this.names = find(".mpm-runs");
    this.list.addEventListener("change", () => this.offer());
    part("comparing").addEventListener("click", () => this.compare());
    this.end.addEventListener("click", () => send("simulation"));
  }

  show(state) {
    this.state = state;
    this.section.hidden = !state.comparable.length;
    const key = JSON.stringify(state.comparable);
    if (this.list.dataset.entries !== key) {
      this.list.dataset.entries = key;
      const groups = new Map(state.comparable.map(([, group]) => [group, document.createElement("optgroup")]));
      for (const [value, group, name] of state.comparable)
        groups.get(group).append(new Option(name.replaceAll("_", " "), value));
      for (const [name, group] of groups) group.label = name;
      this.list.replaceChildren(...groups.values());
      this.offer();
    }
    const labels = state.comparison ? state.comparison.labels : [];
    this.end.disabled = !state.comparison;
    this.differences.textContent = state.comparison
      ? `The runs differ only in ${state.comparison.name.replaceAll("_", " ")}.`
      : "All runs share the domain, the clock and the picture.";
    this.names.hidden = !labels.length;
    this.names.replaceChildren(...labels.map((text) => {
      const field = document.createElement("div"), name = document.createElement("span");
      name.textContent = text;
      field.append(name);
      return field;
    }));
    this.place();
  }

  // The names stand in the fields of the picture.
  place() {
    const { across } = this.picture;
    this.names.style.gridTemplateColumns = `repeat(${across}, minmax(0, 1fr))`;
    [...this.names.children].forEach((field, k) => {
      field.classList.toggle("mpm-beside", k % across > 0);
      field.classList.toggle("mpm-below", k >= across);
    });
  }

  // Values to begin with: words as they are listed; half, once and twice a number.
  offer() {
    const setting = this.state.settings.find(({ key }) => key === this.list.value);
    if (!setting) return;
    const { choices, value } = setting;
    const halved = setting.whole ? Math.round(value / 2) : value / 2;
    const first = choices.length ? choices : value ? [halved, value, 2 * value] : [value === null ? "" : value];
    this.values.replaceChildren(...Array.from({ length: COMPARED }, (_, k) => {
      const field = document.createElement(choices.length ? "select" : "input");
      if (choices.length) field.append(...["", ...choices].map((choice) => new Option(choice, choice)));
      field.value = first[k] === undefined ? "" : typeof first[k] === "number" ? shown(first[k]) : first[k];
      field.setAttribute("aria-label", `Value ${k + 1}`);
      return field;
    }));
    this.values.title = [setting.meaning, setting.allowed].filter(Boolean).join("; ");
  }

  // What is no number goes as it is: the answer says what is allowed.
  compare() {
    const texts = [...this.values.children].map((field) => field.value.trim()).filter((text) => text);
    const numbers = this.values.querySelector("input") !== null;
    const values = texts.map((text) => (numbers && Number.isFinite(Number(text)) ? Number(text) : text));
    if (values.length < 2) return this.fail("Enter two to four values to compare.");
    return this.send("compare", { key: this.list.value, values });
  }
}
