// Energies over time, on a small canvas.

const ENERGIES = [["kinetic", "#3b8fd9"], ["elastic", "#e0862c"], ["gravitational", "#4aa564"], ["total", "#8a8f98"]];

class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.rows = [];
  }

  // Draws rows of time and energies; `now` [s] is marked where it is given.
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
    let [low, high] = [0, 0];
    for (const row of rows) for (let k = 1; k < 5; k++) { low = Math.min(low, row[k]); high = Math.max(high, row[k]); }
    if (high === low) high = low + 1;
    const [from, to] = [rows[0][0], rows[rows.length - 1][0]];
    const [left, right, top, bottom] = [56, width - 8, 8, height - 16];
    const x = (t) => left + ((t - from) / (to - from || 1)) * (right - left);
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
    pen.globalAlpha = 0.65;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of low < 0 && high > 0 ? [low, 0, high] : [low, high]) {
      pen.fillText(value.toPrecision(3).replace(/\.?0+$/, "") || "0", left - 6, y(value));
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
    const stride = Math.max(1, Math.floor(rows.length / (2 * width)));
    ENERGIES.forEach(([, color], k) => {
      pen.strokeStyle = color;
      pen.beginPath();
      for (let i = 0; i < rows.length; i += stride) pen.lineTo(x(rows[i][0]), y(rows[i][k + 1]));
      const last = rows[rows.length - 1];
      pen.lineTo(x(last[0]), y(last[k + 1]));
      pen.stroke();
    });
    if (now !== null) {
      pen.globalAlpha = 0.6;
      pen.fillRect(x(now), top, 1, bottom - top);
      pen.globalAlpha = 1;
    }
  }
}
