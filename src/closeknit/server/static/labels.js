// Names on the map, and frames around what an explanation speaks of.

import { THEMES } from "./colors.js";
import { headOf } from "./layout.js";

export function drawLabels(canvas, picture, view, ratio, marks) {
  const context = canvas.getContext("2d"), { model, layout } = picture, theme = THEMES[picture.theme];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const width = canvas.width / ratio, height = canvas.height / ratio;
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  const { domains, levels, nodes } = model.map;
  for (let i = 0; i < domains.name.length; i++) {
    if (!layout.shown[i]) continue;
    const x = (layout.x[i] - view.x) * view.scale, y = (layout.y[i] - view.y) * view.scale;
    const w = layout.w[i] * view.scale, h = layout.h[i] * view.scale;
    if (x > width || y > height || x + w < 0 || y + h < 0) { i = picture.ends[i] - 1; continue; }
    const head = headOf(levels.length, domains.level[i]) * view.scale;
    if (head < 9 || w < 30) continue;
    const size = Math.min(16, head * .75);
    context.font = `${domains.level[i] === 0 ? 600 : 400} ${size}px system-ui, sans-serif`;
    context.fillStyle = theme.quiet;
    context.fillText(cut(context, domains.name[i], w - 8), Math.max(x, 0) + 4, y + head * .55, w - 8);
  }
  if (view.scale > 14) {
    context.font = "10px system-ui, sans-serif";
    for (let i = 0; i < nodes.name.length; i++) {
      const x = (layout.nodeX[i] - view.x) * view.scale, y = (layout.nodeY[i] - view.y) * view.scale;
      if (x > width || y > height || x + layout.box.w * view.scale < 0 || y + layout.box.h * view.scale < 0) continue;
      context.fillStyle = theme.ink;
      context.fillText(cut(context, nodes.name[i], layout.box.w * view.scale - 4), x + 3, y + 8);
    }
  }
  for (const mark of marks) {
    const x = (mark.x - view.x) * view.scale, y = (mark.y - view.y) * view.scale;
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.setLineDash(mark.dashed ? [6, 4] : []);
    context.strokeRect(x, y, mark.w * view.scale, mark.h * view.scale);
  }
  context.setLineDash([]);
  // After all frames, so that none of them runs through a text.
  context.font = "600 12px system-ui, sans-serif";
  for (const mark of marks.filter((each) => each.text)) {
    const x = (mark.x - view.x) * view.scale, y = (mark.y - view.y) * view.scale;
    context.fillStyle = theme.accent;
    context.fillRect(x, y - 16, context.measureText(mark.text).width + 8, 16);
    context.fillStyle = picture.theme === "light" ? "#fff" : "#1b2330";
    context.fillText(mark.text, x + 4, y - 8);
  }
}

function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length = Math.floor(length * .8);
  return length > 1 ? `${text.slice(0, length)}…` : "";
}
