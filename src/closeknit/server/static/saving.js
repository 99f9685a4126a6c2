// The part of the map that is shown, as an SVG document.

import { css } from "./colors.js";
import { headOf } from "./layout.js";

const MOST_NODES = 20000;

export function svgOf(picture, view, width, height) {
  const { model, layout, colors } = picture, parts = [];
  const box = (x, y, w, h, color, more = "") => parts.push(`<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${w.toFixed(1)}" height="${h.toFixed(1)}" fill="${css(color)}"${more}/>`);
  const outside = (x, y, w, h) => x > width || y > height || x + w < 0 || y + h < 0;
  box(0, 0, width, height, colors.paper);
  for (let i = 0; i < model.map.domains.name.length; i++) {
    if (!layout.shown[i]) continue;
    const x = (layout.x[i] - view.x) * view.scale, y = (layout.y[i] - view.y) * view.scale;
    const w = layout.w[i] * view.scale, h = layout.h[i] * view.scale;
    if (outside(x, y, w, h)) continue;
    const level = model.map.domains.level[i], head = headOf(model.map.levels.length, level) * view.scale;
    box(x, y, w, h, colors.shades[Math.min(level, colors.shades.length - 1)], ` stroke="${css(colors.line)}"`);
    if (head >= 9) parts.push(`<text x="${(x + 4).toFixed(1)}" y="${(y + head * .7).toFixed(1)}" font-size="${Math.min(16, head * .75).toFixed(1)}" font-family="system-ui, sans-serif" fill="${css(colors.line)}">${escaped(model.map.domains.name[i])}</text>`);
  }
  let left = MOST_NODES;
  for (let node = 0; node < model.held.length && left > 0; node++) {
    const x = (layout.nodeX[node] - view.x) * view.scale, y = (layout.nodeY[node] - view.y) * view.scale;
    if (outside(x, y, layout.box.w * view.scale, layout.box.h * view.scale)) continue;
    left--;
    parts.push(`<g><title>${escaped(model.map.nodes.name[node])}</title>`);
    for (let i = 0; i < layout.cells; i++)
      box(x + (layout.single ? 0 : i % layout.columns) * view.scale, y + (layout.single ? 0 : Math.floor(i / layout.columns)) * view.scale, (layout.single ? layout.box.w : .9) * view.scale, (layout.single ? layout.box.h : .9) * view.scale, picture.cellColors[node * layout.cells + i]);
    parts.push("</g>");
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"><title>Closeknit map</title>${parts.join("\n")}</svg>\n`;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, "�");
}
