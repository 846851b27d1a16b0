// The picture with its colour scale and time, as a png or, drawing by drawing, as a movie.

const SCREENSHOT_INK = { light: "#1f2733", dark: "#e4e9f0" };

// `canvas` has just been drawn, in this task: WebGL does not keep it longer. Without colours there is no scale.
function composed(canvas, over, { colors, marks, label, labels, across, down, time, dark, background }) {
  const made = document.createElement("canvas"), ratio = window.devicePixelRatio || 1;
  const pen = made.getContext("2d"), font = "12px system-ui, sans-serif";
  pen.font = font;
  const room = Math.max(40, pen.measureText(label).width - 18, ...marks.map((text) => pen.measureText(text).width));
  // As on the page, the colour scale stands beside the picture.
  [made.width, made.height] = [canvas.width + (colors.length ? Math.ceil((36 + room) * ratio) : 0), canvas.height];
  pen.fillStyle = background;
  pen.fillRect(0, 0, made.width, made.height);
  pen.drawImage(canvas, 0, 0);
  pen.drawImage(over, 0, 0); // the axes, and the plane of a cut
  pen.scale(ratio, ratio);
  pen.font = font;
  const width = canvas.width / ratio, height = Math.min(150, made.height / ratio - 60), top = 40, left = width + 6;
  const ink = dark ? SCREENSHOT_INK.dark : SCREENSHOT_INK.light;
  pen.textBaseline = "middle";
  if (colors.length) {
    const ramp = pen.createLinearGradient(0, top + height, 0, top);
    colors.forEach((color, k) => ramp.addColorStop(k / (colors.length - 1), color));
    pen.fillStyle = ramp;
    pen.fillRect(left, top, 12, height);
    pen.fillStyle = ink;
    marks.forEach((text, k) => pen.fillText(text, left + 18, top + (1 - k / (marks.length - 1)) * height));
    pen.fillText(label, left, top - 20);
  }
  pen.fillStyle = ink;
  labels.forEach((text, k) =>
    pen.fillText(text, 14 + ((k % across) * width) / across, 40 + (Math.floor(k / across) * made.height) / ratio / down));
  pen.fillText(`t = ${shown(time)} s`, 14, 20);
  return made;
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Drawings as they come, at the pace at which they come: what is seen is what is in the movie.
class Movie {
  constructor(first, done) {
    const kinds = ["video/webm;codecs=vp9", "video/webm", "video/mp4"];
    const kind = window.MediaRecorder && kinds.find((one) => MediaRecorder.isTypeSupported(one));
    if (!kind) throw new Error("This browser cannot record movies.");
    this.canvas = document.createElement("canvas");
    // Encoders of video need even numbers.
    [this.canvas.width, this.canvas.height] = [first.width, first.height].map((size) => size - (size % 2));
    this.add(first);
    const chunks = [];
    this.recorder = new MediaRecorder(this.canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 8e6 });
    this.recorder.ondataavailable = (event) => chunks.push(event.data);
    this.recorder.onstop = () => done(new Blob(chunks, { type: kind }), kind.startsWith("video/mp4") ? "mp4" : "webm");
    this.recorder.start();
  }

  add(drawing) {
    this.canvas.getContext("2d").drawImage(drawing, 0, 0, this.canvas.width, this.canvas.height);
  }

  stop() {
    this.recorder.stop();
  }
}
