// The picture with its colour scale and time as a png.

const SCREENSHOT_INK = { light: "#1f2733", dark: "#e4e9f0" };

// `canvas` has just been drawn, in this task: WebGL does not keep it longer.
function composed(canvas, { colors, low, high, label, time, dark }) {
  const made = document.createElement("canvas"), ratio = window.devicePixelRatio || 1;
  [made.width, made.height] = [canvas.width, canvas.height];
  const pen = made.getContext("2d");
  pen.drawImage(canvas, 0, 0);
  pen.scale(ratio, ratio);
  const width = made.width / ratio, height = 150, top = 40, left = width - 70;
  const ramp = pen.createLinearGradient(0, top + height, 0, top);
  colors.forEach((color, k) => ramp.addColorStop(k / (colors.length - 1), color));
  pen.fillStyle = ramp;
  pen.fillRect(left, top, 12, height);
  pen.fillStyle = dark ? SCREENSHOT_INK.dark : SCREENSHOT_INK.light;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const share of [0, 0.25, 0.5, 0.75, 1])
    pen.fillText(shown(low + share * (high - low)), left + 18, top + (1 - share) * height);
  pen.textAlign = "right";
  pen.fillText(label, width - 12, top - 20);
  pen.textAlign = "left";
  pen.fillText(`t = ${shown(time)} s`, 14, 20);
  return made;
}

function download(canvas, name) {
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
