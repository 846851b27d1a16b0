// Curves over time, on a small canvas.

const CURVES = ["#3b8fd9", "#e0862c", "#4aa564", "#8a8f98", "#b0413e", "#7d5ba6", "#5b8c2a", "#c77cb0", "#1f86ad"];

class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.rows = [];
  }

  // Draws rows of time and values, of which some may be null; `now` [s] is marked where it is given.
  draw(rows, ink, now) {
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = pen.strokeStyle = ink;
    if (!rows.length) return;
    const [low, high] = this.span(rows);
    const [from, to] = [rows[0][0], rows[rows.length - 1][0]];
    const [left, right, top, bottom] = [62, width - 8, 8, height - 16];
    const x = (t) => left + ((t - from) / (to - from || 1)) * (right - left);
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
    pen.globalAlpha = 0.65;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of low < 0 && high > 0 ? [low, 0, high] : [low, high]) {
      pen.fillText(value === 0 ? "0" : Number(value.toPrecision(3)).toString(), left - 6, y(value));
      pen.globalAlpha = 0.2;
      pen.fillRect(left, Math.round(y(value)), right - left, 1);
      pen.globalAlpha = 0.65;
    }
    pen.textBaseline = "alphabetic";
    pen.fillText(`${to.toPrecision(3)} s`, right, height - 3);
    pen.textAlign = "left";
    pen.fillText(`${from.toPrecision(3)} s`, left, height - 3);
    pen.globalAlpha = 1;
    pen.lineWidth = 1.5;
    const stride = Math.max(1, Math.floor(rows.length / (2 * width))), last = rows[rows.length - 1];
    for (let k = 1; k < rows[0].length; k++) {
      pen.strokeStyle = CURVES[(k - 1) % CURVES.length];
      pen.beginPath();
      for (let i = 0; i < rows.length; i += stride) if (rows[i][k] !== null) pen.lineTo(x(rows[i][0]), y(rows[i][k]));
      if (last[k] !== null) pen.lineTo(x(last[0]), y(last[k]));
      pen.stroke();
    }
    if (now !== null) {
      pen.globalAlpha = 0.6;
      pen.fillRect(x(now), top, 1, bottom - top);
      pen.globalAlpha = 1;
    }
  }

  // Ends of the values: with 0, unless they are far from it beside their width.
  span(rows) {
    let [low, high] = [Infinity, -Infinity];
    for (const row of rows)
      for (let k = 1; k < row.length; k++)
        if (row[k] !== null) { low = Math.min(low, row[k]); high = Math.max(high, row[k]); }
    if (low > high) return [0, 1];
    if (Math.min(Math.abs(low), Math.abs(high)) < 3 * (high - low)) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    const least = 1e-9 * Math.max(Math.abs(low), Math.abs(high)) || 1;
    return high - low < least ? [low - least / 2, high + least / 2] : [low, high];
  }
}
