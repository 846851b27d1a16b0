// The picture: vertices of a frame drawn with WebGL2, and the mouse that turns, shifts and zooms them.
// A vertex is four 16-bit numbers: the position in the box of the state message, and the colour.

const VERTEX = `#version 300 es
layout(location = 0) in vec4 vertex;
layout(location = 1) in float outward; // a normal, see frames.normals
uniform vec3 boxLower, boxSize, middle, domainLower, domainUpper;
uniform mat3 turn;         // rows: right, up, towards the eye
uniform vec2 scale, shift; // from metres to the screen's -1 ... 1
uniform float nearness;    // of depth, per metre
uniform float lens;        // one over the distance of the eye from the middle; 0: a parallel projection
uniform float pointSize;
uniform vec3 stops[6];
uniform vec4 ink;          // alpha 0: from the colour scale
uniform vec4 cut;          // hides where dot(cut.xyz, position) > cut.w
uniform bool lit;          // the fourth number is a normal, see frames.faces
uniform bool smoothed;     // by outward
uniform bool block;        // is whole within the domain
out vec4 color;
out float beyond;
out highp vec3 place; // before the eye [m]
flat out highp float grown; // by how much nearness counts more, as a depth, than in the middle
vec3 normal(float code) {
  float high = floor(code / 256.0);
  vec2 side = vec2(high, floor(code - 256.0 * high)) / 127.5 - 1.0;
  vec3 found = vec3(side, 1.0 - abs(side.x) - abs(side.y));
  if (found.z < 0.0) found.xy = (1.0 - abs(side.yx)) * vec2(side.x < 0.0 ? -1.0 : 1.0, side.y < 0.0 ? -1.0 : 1.0);
  return normalize(found);
}
void main() {
  vec3 position = boxLower + vertex.xyz * boxSize;
  vec3 seen = turn * (position - middle);
  place = seen;
  beyond = dot(cut.xyz, position) - cut.w;
  float away = 1.0 - lens * seen.z;
  gl_Position = vec4(seen.xy * scale + shift * away, -seen.z * nearness, away);
  gl_PointSize = pointSize / away;
  grown = 1.0 / (away * away);
  float at = clamp(vertex.w, 0.0, 1.0) * 5.0;
  int stop = min(int(at), 4);
  color = ink.a > 0.0 ? ink : vec4(mix(stops[stop], stops[stop + 1], at - float(stop)), 1.0);
  if (smoothed) color.rgb *= 0.66 + 0.4 * max(0.0, dot(vec3(-0.42, 0.72, 0.55), turn * normal(outward + 0.5)));
  // Both sides are lit.
  if (!lit) return;
  vec3 outside = max(domainLower - position, position - domainUpper);
  if (!block) beyond = max(beyond, max(outside.x, max(outside.y, outside.z)));
  color.rgb *= 0.62 + 0.38 * abs(dot(vec3(-0.42, 0.72, 0.55), turn * normal(vertex.w * 65535.0 + 0.5)));
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 color;
in float beyond;
in highp vec3 place;
flat in highp float grown;
uniform bool disc, shaded, faceted;
uniform vec4 section; // of a block, where its inside is seen through a cut; alpha 0: it is none
uniform highp float relief; // by how much the middle of a disc is nearer than its rim, as a depth
out vec4 pixel;
void main() {
  highp vec3 across = cross(dFdx(place), dFdy(place)); // towards the eye
  gl_FragDepth = gl_FragCoord.z;
  if (beyond > 0.0) discard;
  pixel = color;
  if (faceted) pixel.rgb *= 0.66 + 0.4 * max(0.0, dot(vec3(-0.42, 0.72, 0.55), across) / max(length(across), 1e-30));
  if (section.a > 0.0 && !gl_FrontFacing) pixel = section;
  if (!disc) return;
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  float far = dot(at, at);
  if (far > 1.0) discard;
  // As in pictures, see discs.py. In the plane, each place has the colour of the nearest particle; in space, spheres
  // that touch meet in a line.
  float height = sqrt(1.0 - far);
  if (shaded) {
    pixel.rgb *= 0.5 + 0.58 * max(0.0, dot(vec3(-0.42, -0.72, 0.55), vec3(at, height)));
    gl_FragDepth = gl_FragCoord.z - relief * grown * height;
  } else {
    pixel.rgb *= 0.86 + 0.14 * height;
    gl_FragDepth = 0.4 * far;
  }
}`;

const INKS = { joints: [0.09, 0.11, 0.14, 1], particles: [0.1, 0.12, 0.16, 0.55], grid: [0.85, 0.33, 0.1, 0.8], colliders: [0.45, 0.5, 0.57, 1], faces: [0.8, 0.82, 0.86, 1] };
const DARK_INKS = { joints: [1, 1, 1, 1], particles: [0.95, 0.96, 1, 0.55], grid: [1, 0.6, 0.3, 0.85], colliders: [0.66, 0.71, 0.78, 1], faces: [0.35, 0.39, 0.45, 1] };
const SURFACE = { light: [0.68, 0.72, 0.78, 0.6], dark: [0.7, 0.75, 0.82, 0.5] }; // of colliders in 3-D

const GROUND = { light: [0.74, 0.71, 0.66, 1], dark: [0.6, 0.57, 0.53, 1] }; // in 3-D, and where it is cut
const SECTION = { light: [0.56, 0.53, 0.49, 1], dark: [0.42, 0.4, 0.37, 1] };

const FOV = 35; // degrees that the scene spans in perspective

const NAME = 20; // pixels of the page for the name of a run

// How many fields there are beside and below one another for some runs, each `shape` times as wide as high: those in
// which the runs are largest.
function fields(runs, shape, width, height) {
  let best = [1, Math.max(1, runs)], largest = 0;
  for (let across = 1; across <= runs; across++) {
    const down = Math.ceil(runs / across), size = Math.min(width / across / shape, height / down);
    if (size > largest) [best, largest] = [[across, down], size];
  }
  return best;
}

class Picture {
  // `onChange` is called when the mouse has changed what is seen: to draw again.
  constructor(canvas, onChange) {
    this.canvas = canvas;
    this.onChange = onChange;
    this.onTurn = () => {};
    this.onFit = () => {}; // the fields have changed
    this.bodies = new Map(); // by name: { hidden, ink }, where a body is not as all
    this.onGrip = () => false; // is there something to drag at this place of the page?
    this.onDrag = () => {};
    this.deep = false; // in perspective
    this.cut = null; // or { axis, sign, at [m] }: what lies beyond is hidden
    this.gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    this.parts = [];
    this.runs = [];
    this.across = this.down = 1; // fields of the picture, a run in each
    this.colliders = { faces: 0, lines: 0, ground: 0 };
    this.state = null;
    if (!this.gl) return;
    this.prepare();
    this.listen();
  }

  prepare() {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.at = (name) => gl.getUniformLocation(program, name);
    this.buffers = { frame: gl.createBuffer(), domain: gl.createBuffer(), colliders: gl.createBuffer() };
    gl.enableVertexAttribArray(0);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  // A new state: another place looks at the whole domain again.
  show(state) {
    const place = JSON.stringify([state.box, state.domain, state.up, state.falls_up]);
    this.state = state;
    if (place === this.place) return;
    this.place = place;
    this.parts = [];
    this.runs = []; // of the frame that was for another place
    this.colliders = { faces: 0, lines: 0, ground: 0 };
    this.look();
    this.fillDomain();
  }

  look() {
    const { lower, upper } = this.state.domain;
    this.flat = lower.length === 2;
    this.extent = upper.map((value, axis) => value - lower[axis]);
    this.middle = [0, 1, 2].map((axis) => (axis < lower.length ? (lower[axis] + upper[axis]) / 2 : 0));
    [this.azimuth, this.elevation] = this.state.eye;
    this.zoom = 1;
    this.shift = [0, 0];
    this.fit();
  }

  // The shape of the canvas is that of a 2-D domain, or of several side by side; within limits.
  fit() {
    const one = this.flat ? (1.04 * this.extent[0]) / this.extent[1] : 4 / 3;
    // As in the style: the picture takes the width, and 70 % of the height of the window at most.
    const before = `${this.across} ${this.down}`;
    [this.across, this.down] = fields(this.runs.length, one, this.canvas.clientWidth || 1, 0.7 * window.innerHeight);
    const least = this.down > 1 ? 0.4 : 1; // runs below one another may need a high canvas
    this.canvas.style.aspectRatio = Math.min(3.2, Math.max(least, (one * this.across) / this.down));
    if (before !== `${this.across} ${this.down}`) this.onFit();
  }

  // One buffer straight from the message, see Session.
  fill(parts, runs, data) {
    this.parts = parts;
    this.runs = runs;
    this.fit();
    this.data = data;
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.frame);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
  }

  fillColliders(parts, data) {
    this.colliders = Object.fromEntries(parts); // in this order: faces, lines, ground
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.colliders);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
  }

  // The edges of the domain, in 3-D with a grid on its floor.
  fillDomain() {
    const { lower, upper } = this.state.domain, box = this.state.box, d = lower.length, up = this.state.up;
    const numbers = [];
    const put = (point) => {
      for (let axis = 0; axis < 3; axis++)
        numbers.push(axis < d ? Math.round((65535 * (point[axis] - box.lower[axis])) / box.size[axis]) : 0);
      numbers.push(0);
    };
    const corner = (bits) => lower.map((value, axis) => ((bits >> axis) & 1 ? upper[axis] : value));
    for (let bits = 0; bits < 1 << d; bits++)
      for (let axis = 0; axis < d; axis++)
        if (!((bits >> axis) & 1)) { put(corner(bits)); put(corner(bits | (1 << axis))); }
    this.edges = numbers.length / 4;
    if (d === 3)
      for (const [along, across] of [[(up + 1) % 3, (up + 2) % 3], [(up + 2) % 3, (up + 1) % 3]])
        for (let k = 1; k < 10; k++) {
          const from = [...lower], to = [...lower];
          const floor = this.state.falls_up ? upper[up] : lower[up];
          from[up] = to[up] = floor;
          from[across] = to[across] = lower[across] + (k / 10) * this.extent[across];
          to[along] = upper[along];
          put(from); put(to);
        }
    this.floor = numbers.length / 4 - this.edges;
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.domain);
    gl.bufferData(gl.ARRAY_BUFFER, new Uint16Array(numbers), gl.STATIC_DRAW);
  }

  // Rows: right, up, towards the eye.
  rows() {
    if (this.flat) return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    const [sa, ca] = [Math.sin(this.azimuth), Math.cos(this.azimuth)];
    const [se, ce] = [Math.sin(this.elevation), Math.cos(this.elevation)];
    const up = this.state.up, order = [(up + 1) % 3, (up + 2) % 3, up];
    const over = this.state.falls_up ? -1 : 1;
    return [[-sa * over, ca * over, 0], [-ca * se * over, -sa * se * over, ce * over], [ca * ce, sa * ce, se]].map((row) => {
      const placed = [0, 0, 0];
      order.forEach((axis, k) => { placed[axis] = row[k]; });
      return placed;
    });
  }

  ratio() {
    return window.devicePixelRatio || 1;
  }

  // Pixels per metre at which the whole domain is seen.
  fitting() {
    // In 3-D from any side, so that turning does not zoom.
    const round = 0.92 * Math.hypot(...this.extent), [wide, high] = this.flat ? this.extent : [round, round];
    const room = this.runs.length > 1 ? 2 * NAME * this.ratio() : 0; // above and below, as the domain is in the middle
    return 0.93 * Math.min(this.canvas.width / this.across / wide, (this.canvas.height / this.down - room) / high);
  }

  // One over the distance of the eye from the middle of the domain [1/m]; 0: a parallel projection.
  lens() {
    return this.deep && !this.flat ? (2 * Math.sin((FOV * Math.PI) / 360)) / Math.hypot(...this.extent) : 0;
  }

  // A point [m] from the middle of the domain: to the right, upwards and towards the eye.
  seen(point) {
    const from = [0, 1, 2].map((axis) => (axis < point.length ? point[axis] - this.middle[axis] : 0));
    return this.rows().map((row) => row.reduce((sum, value, axis) => sum + value * from[axis], 0));
  }

  // Where a point [m] is in the first field: pixels of the page from the left and the top, and metres towards the eye.
  onScreen(point) {
    const [right, up, near] = this.seen(point), away = 1 - this.lens() * near, canvas = this.canvas;
    const perMetre = (this.fitting() * this.zoom) / this.ratio() / away;
    return [
      canvas.clientWidth / this.across / 2 + perMetre * right + this.shift[0],
      canvas.clientHeight / this.down / 2 - perMetre * up + this.shift[1],
      near,
    ];
  }

  // Pixels of the page per particle.
  diameter() {
    const spacing = this.runs.length ? this.runs[0].spacing : 0;
    return Math.max(1.5, (this.state.cover * spacing * this.fitting() * this.zoom) / this.ratio());
  }

  // The vertex of the particle at a place of the page, in 3-D the nearest to the eye; null where there is none.
  pick(left, top, reach) {
    const [name, count] = this.parts[0] || ["", 0];
    if (!this.state || this.runs.length !== 1 || !["points", "triangles"].includes(name)) return null;
    const { lower, size } = this.state.box, d = lower.length;
    const point = new Uint16Array(this.data.slice(0, 8 * count).buffer);
    const origin = this.seen(lower), axes = [], lens = this.lens(), { canvas } = this;
    for (let axis = 0; axis < d; axis++) {
      const end = this.seen(lower.map((value, k) => value + (k === axis ? size[axis] : 0)));
      axes.push(end.map((value, k) => (value - origin[k]) / 65535));
    }
    const perMetre = (this.fitting() * this.zoom) / this.ratio(), half = this.diameter() / 2, cut = this.cut;
    const [column, row] = [canvas.clientWidth / this.across / 2 + this.shift[0], canvas.clientHeight / this.down / 2 + this.shift[1]];
    let found = null, best = -Infinity;
    for (let i = 0; i < count; i++) {
      let [right, up, near] = origin;
      for (let axis = 0; axis < d; axis++) {
        const along = point[4 * i + axis];
        right += along * axes[axis][0]; up += along * axes[axis][1]; near += along * axes[axis][2];
      }
      const grown = 1 / (1 - lens * near), radius = Math.max(reach, half * grown);
      const x = column + perMetre * grown * right - left, y = row - perMetre * grown * up - top, far = x * x + y * y;
      if (far > radius * radius) continue;
      if (cut && cut.sign * (lower[cut.axis] + (size[cut.axis] * point[4 * i + cut.axis]) / 65535 - cut.at) > 0) continue;
      const merit = this.flat ? -far : near;
      if (merit > best && !(this.bodies.size && this.hides(i))) [best, found] = [merit, i];
    }
    return found;
  }

  // Draws what is there into a canvas of its present size.
  draw(dark, colors, background) {
    const gl = this.gl, state = this.state, canvas = this.canvas;
    if (!gl || !state) return;
    const ratio = this.ratio();
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const perMetre = this.fitting() * this.zoom, wide = width / this.across, high = height / this.down;
    const three = (values) => [values[0], values[1], values.length > 2 ? values[2] : 0];
    gl.uniform3fv(this.at("boxLower"), three(state.box.lower));
    gl.uniform3fv(this.at("boxSize"), three(state.box.size));
    gl.uniform3fv(this.at("domainLower"), three(state.domain.lower));
    gl.uniform3fv(this.at("domainUpper"), three(state.domain.upper));
    gl.uniform3fv(this.at("middle"), this.middle);
    gl.uniformMatrix3fv(this.at("turn"), true, this.rows().flat());
    gl.uniform2f(this.at("scale"), (2 * perMetre) / wide, (2 * perMetre) / high);
    gl.uniform2f(this.at("shift"), (2 * ratio * this.shift[0]) / wide, (-2 * ratio * this.shift[1]) / high);
    gl.uniform1f(this.at("lens"), this.lens());
    gl.uniform1f(this.at("nearness"), 0.5 / Math.hypot(...state.box.size));
    gl.uniform3fv(this.at("stops"), colors.flat());
    gl.uniform1i(this.at("shaded"), this.flat ? 0 : 1);
    gl.enable(gl.SCISSOR_TEST);
    const place = [0, 0]; // among the parts, and among the vertices
    this.runs.forEach((run, k) => {
      const left = Math.round((k % this.across) * wide), below = Math.round((this.down - 1 - Math.floor(k / this.across)) * high);
      for (const set of ["viewport", "scissor"]) gl[set](left, below, Math.round(wide), Math.round(high));
      const size = Math.max(1.5 * ratio, state.cover * run.spacing * perMetre);
      gl.uniform1f(this.at("pointSize"), size);
      gl.uniform1f(this.at("relief"), (0.5 * size / perMetre) / Math.hypot(...state.box.size) / 2);
      this.drawRun(this.parts.slice(place[0], place[0] + run.parts), place[1], dark, run.bodies);
      for (let i = 0; i < run.parts; i++) place[1] += this.parts[place[0]++][1];
    });
  }

  // A run into the field that is set: parts of the frame, the first of which begins at a vertex.
  drawRun(parts, first, dark, bodies) {
    const gl = this.gl;
    this.hide(null);
    this.use(this.buffers.domain);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    this.lines([0.5, 0.55, 0.62, 0.28], this.edges, this.floor);
    this.lines([0.5, 0.55, 0.62, 0.9], 0, this.edges);

    const inks = dark ? DARK_INKS : INKS;
    this.hide(this.cut);
    if (this.flat) this.drawColliders(inks);
    else this.drawGround(dark ? "dark" : "light");
    this.use(this.buffers.frame);
    // A surface hides its nodes, unless it is cut; so do the shapes of rigid bodies.
    const hidden = !this.cut && parts.some(([name]) => name === "surface");
    const solid = !this.cut && parts.some(([name]) => name === "solids");
    for (const [k, [name, count]] of parts.entries()) {
      if (name === "triangles" || name === "surface" || name === "solids") {
        const smooth = parts[k + 1]?.[0] === "normals";
        gl.disable(gl.BLEND);
        if (!this.flat) gl.enable(gl.DEPTH_TEST);
        gl.uniform1i(this.at("disc"), 0);
        gl.uniform1i(this.at("faceted"), this.flat || smooth ? 0 : 1);
        if (smooth) this.useNormals(first, count);
        this.drawBodies(gl.TRIANGLES, first, count, bodies, name === "triangles" ? 1 : 2);
        gl.uniform1i(this.at("faceted"), 0);
        if (smooth) this.useNormals(0, 0);
        gl.enable(gl.BLEND);
      } else if (name === "normals" || (name === "points" && hidden)) {
        // nothing
      } else if (name === "points") {
        gl.disable(gl.BLEND);
        gl.enable(gl.DEPTH_TEST);
        gl.uniform1i(this.at("disc"), 1);
        this.drawBodies(gl.POINTS, first, count, bodies, 1, solid);
        if (this.flat) gl.disable(gl.DEPTH_TEST);
        gl.enable(gl.BLEND);
      } else if (name === "joints") {
        gl.disable(gl.DEPTH_TEST); // over all bodies
        this.lines(inks[name], first, count);
        if (!this.flat) gl.enable(gl.DEPTH_TEST);
      } else this.lines(inks[name], first, count);
      first += count;
    }
    if (!this.flat) this.veil(dark ? SURFACE.dark : SURFACE.light);
    this.hide(null);
  }

  // Vertices of all bodies, one after the other: [name, points, faces] each, by the colour scale or in a colour of its own.
  // With `solid`, not those of bodies that have faces.
  drawBodies(mode, first, count, bodies, which, solid) {
    const gl = this.gl;
    for (const body of bodies.length ? bodies : [["", count, count]]) {
      const own = this.bodies.get(body[0]) || {};
      gl.uniform4fv(this.at("ink"), own.ink ? [...own.ink, 1] : [0, 0, 0, 0]);
      if (!own.hidden && body[which] && !(solid && body[2])) gl.drawArrays(mode, first, body[which]);
      first += body[which];
    }
  }

  // Is the vertex of a picture of one run that of a hidden body?
  hides(vertex) {
    for (const [name, count] of this.runs[0].bodies) {
      if (vertex < count) return Boolean(this.bodies.get(name)?.hidden);
      vertex -= count;
    }
    return false;
  }

  // In 2-D: filled, below the particles.
  drawColliders(inks) {
    const { faces, lines } = this.colliders;
    this.use(this.buffers.colliders);
    this.triangles(inks.faces, faces);
    this.lines(inks.colliders, faces, lines);
  }

  // In 3-D: opaque blocks, before all else.
  drawGround(look) {
    const gl = this.gl, { faces, lines, ground } = this.colliders;
    if (!ground) return;
    this.use(this.buffers.colliders);
    gl.disable(gl.BLEND);
    gl.enable(gl.DEPTH_TEST);
    for (const name of ["lit", "block"]) gl.uniform1i(this.at(name), 1);
    gl.uniform4fv(this.at("section"), SECTION[look]);
    this.triangles(GROUND[look], ground, faces + lines);
    gl.uniform4fv(this.at("section"), [0, 0, 0, 0]);
    for (const name of ["lit", "block"]) gl.uniform1i(this.at(name), 0);
    gl.enable(gl.BLEND);
  }

  // In 3-D: surfaces that let what lies behind shine through. The nearest alone is blended, so that no order matters.
  veil(ink) {
    const gl = this.gl;
    this.use(this.buffers.colliders);
    gl.enable(gl.DEPTH_TEST);
    gl.uniform1i(this.at("lit"), 1);
    gl.depthFunc(gl.LEQUAL);
    gl.colorMask(false, false, false, false);
    this.triangles(ink, this.colliders.faces);
    gl.colorMask(true, true, true, true);
    this.triangles(ink, this.colliders.faces);
    gl.depthFunc(gl.LESS);
    gl.uniform1i(this.at("lit"), 0);
  }

  triangles(ink, count, first = 0) {
    this.gl.uniform4fv(this.at("ink"), ink);
    this.gl.uniform1i(this.at("disc"), 0);
    if (count) this.gl.drawArrays(this.gl.TRIANGLES, first, count);
  }

  // Of what is drawn next, what lies beyond the plane.
  hide(cut) {
    const normal = [0, 0, 0];
    if (cut) normal[cut.axis] = cut.sign;
    this.gl.uniform4f(this.at("cut"), ...normal, cut ? cut.sign * cut.at : 1);
  }

  use(buffer) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.vertexAttribPointer(0, 4, this.gl.UNSIGNED_SHORT, true, 0, 0);
  }

  // Normals follow the vertices of a surface, two bytes each: that of the first vertex is read for number `first`.
  // Without a surface, none are read.
  useNormals(first, count) {
    const gl = this.gl;
    gl.uniform1i(this.at("smoothed"), count ? 1 : 0);
    if (!count) return gl.disableVertexAttribArray(1);
    gl.enableVertexAttribArray(1);
    return gl.vertexAttribPointer(1, 1, gl.UNSIGNED_SHORT, false, 2, 8 * (first + count) - 2 * first);
  }

  lines(ink, first, count) {
    this.gl.uniform4fv(this.at("ink"), ink);
    this.gl.uniform1i(this.at("disc"), 0);
    if (count) this.gl.drawArrays(this.gl.LINES, first, count);
  }

  listen() {
    const canvas = this.canvas;
    let last = null, gripped = false;
    canvas.addEventListener("pointerdown", (event) => {
      last = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
      gripped = Boolean(this.state) && this.onGrip(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last || !this.state) return;
      const [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
      last = [event.clientX, event.clientY];
      if (gripped) {
        this.onDrag(dx, dy);
        return;
      }
      if (this.flat || event.shiftKey || event.buttons & 2) {
        this.shift = [this.shift[0] + dx, this.shift[1] + dy];
      } else {
        this.azimuth -= 0.008 * dx;
        this.elevation = Math.min(1.57, Math.max(-1.57, this.elevation + 0.008 * dy));
        this.onTurn();
      }
      this.onChange();
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { last = null; });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      if (!this.state) return;
      event.preventDefault();
      const factor = Math.exp(-0.0015 * Math.max(-200, Math.min(200, event.deltaY)));
      const zoom = Math.min(200, Math.max(0.2, this.zoom * factor)), grown = zoom / this.zoom;
      // What is under the pointer stays there.
      const box = canvas.getBoundingClientRect();
      const [wide, high] = [box.width / this.across, box.height / this.down]; // of a field
      const from = [((event.clientX - box.left) % wide) - wide / 2, ((event.clientY - box.top) % high) - high / 2];
      this.shift = this.shift.map((value, k) => from[k] - grown * (from[k] - value));
      this.zoom = zoom;
      this.onChange();
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { if (this.state) { this.look(); this.onTurn(); this.onChange(); } });
  }
}
