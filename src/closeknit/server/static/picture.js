// Draws the map into pixels. What cannot be told apart at a size is drawn as one, so that a frame costs about as
// much as there are pixels, however many nodes there are.

import { THEMES, hash, hue, mixed, ramp } from "./colors.js";

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.theme = "light";
    this.colorBy = "workload";
    this.selected = null;
    this.ghosts = new Map();
  }

  show(model, layout) {
    this.model = model;
    this.layout = layout;
    this.cellColors = new Int32Array(model.map.nodes.name.length * layout.cells);
    this.nodeColors = new Int32Array(model.map.nodes.name.length);
    this.ends = ends(model.map, layout);
    this.paintAll();
  }

  paintAll() {
    this.colors = THEMES[this.theme];
    this.known = new Map();
    for (let node = 0; node < this.nodeColors.length; node++) this.paint(node);
  }

  // Work out the colors of a node's cells again.
  paint(node) {
    const { layout, model, colors } = this;
    const size = model.map.nodes.size[node], base = node * layout.cells;
    const empty = model.closed.has(node) ? colors.closed : colors.free;
    const on = model.on(node);
    let used = 0, most = 0, main = empty;
    for (const [workload, amount] of on) {
      used += amount;
      if (amount > most) { most = amount; main = this.colorOf(workload, node); }
    }
    if (layout.single) {
      this.cellColors[base] = mixed(empty, main, size ? Math.min(1, used / size) : 0);
    } else {
      let cell = 0;
      for (const [workload, amount] of on) {
        const color = this.colorOf(workload, node);
        for (let i = 0; i < amount && cell < layout.cells; i++) this.cellColors[base + cell++] = color;
      }
      for (const [workload, amount] of this.ghosts.get(node) ?? [])
        for (let i = 0; i < amount && cell < layout.cells; i++) this.cellColors[base + cell++] = workload;
      while (cell < layout.cells) this.cellColors[base + cell] = cell++ < size ? empty : colors.shades[2];
    }
    this.nodeColors[node] = mixed(empty, main, size ? Math.min(1, .25 + .75 * used / size) * (used > 0 ? 1 : 0) : 0);
  }

  colorOf(workload, node) {
    if (this.colorBy === "use") {
      const size = this.model.map.nodes.size[node];
      return ramp(size ? this.model.used(node) / size : 1, this.colors.lightness);
    }
    let color = this.known.get(workload);
    if (color === undefined) {
      const row = this.model.workloads.get(workload);
      if (!row || row.foreign) color = this.colors.other;
      else if (this.colorBy === "queue") color = row.queue ? hue(hash(row.queue) % 997, this.colors.lightness) : this.colors.other;
      else if (this.colorBy === "priority") color = ramp(Math.log10(1 + Math.max(0, row.priority)) / 9, this.colors.lightness);
      else color = hue(workload, this.colors.lightness);
      if (this.selected !== null && this.selected !== workload) color = mixed(color, this.colors.shades[1], .82);
      this.known.set(workload, color);
    }
    return color;
  }

  resize(width, height) {
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Int32Array(this.image.data.buffer);
  }

  // `view` says how many pixels a unit has, and which unit lies in the corner.
  draw(view) {
    const { width, height } = this.canvas;
    this.pixels.fill(this.colors.paper);
    this.drawn = 0;
    const { map } = this.model, { layout } = this;
    let domain = 0;
    while (domain < map.domains.name.length) {
      domain = this.drawDomain(domain, view, width, height);
    }
    for (const node of layout.inside[0]) this.drawNode(node, view, width, height);
    this.context.putImageData(this.image, 0, 0);
  }

  // Draw a domain's frame and the nodes right inside it; returns the domain to go on with.
  drawDomain(domain, view, width, height) {
    const { layout, model } = this;
    if (!layout.shown[domain]) return domain + 1;
    const x = (layout.x[domain] - view.x) * view.scale, y = (layout.y[domain] - view.y) * view.scale;
    const w = layout.w[domain] * view.scale, h = layout.h[domain] * view.scale;
    if (x > width || y > height || x + w < 0 || y + h < 0) return this.ends[domain];
    const level = model.map.domains.level[domain];
    const shade = this.colors.shades[Math.min(level, this.colors.shades.length - 1)];
    this.fill(x, y, w, h, shade, width, height);
    if (w < 3 || h < 3) {
      this.fill(x, y, Math.max(1, w), Math.max(1, h), this.average(domain), width, height);
      return this.ends[domain];
    }
    if (w > 8) this.frame(x, y, w, h, mixed(shade, this.colors.line, Math.min(1, w / 80)), width, height);
    for (const node of layout.inside[domain + 1]) this.drawNode(node, view, width, height);
    return domain + 1;
  }

  average(domain) {
    const color = this.colors.shades[2];
    for (const node of this.layout.inside[domain + 1]) return this.nodeColors[node];
    return color;
  }

  drawNode(node, view, width, height) {
    const { layout } = this;
    const x = (layout.nodeX[node] - view.x) * view.scale, y = (layout.nodeY[node] - view.y) * view.scale;
    const w = layout.box.w * view.scale, h = layout.box.h * view.scale;
    if (x > width || y > height || x + w < 0 || y + h < 0) return;
    this.drawn++;
    if (w < layout.columns * 2 || layout.single) {
      this.fill(x, y, w, h, layout.single ? this.cellColors[node] : this.nodeColors[node], width, height);
      return;
    }
    const inner = view.scale > 6 ? 1 : 0, base = node * layout.cells;
    for (let i = 0; i < layout.cells; i++) {
      const column = i % layout.columns, row = (i / layout.columns) | 0;
      this.fill(x + column * view.scale, y + row * view.scale, view.scale - inner, view.scale - inner, this.cellColors[base + i], width, height);
    }
  }

  fill(x, y, w, h, color, width, height) {
    const left = Math.max(0, Math.round(x)), right = Math.min(width, Math.max(Math.round(x + w), Math.round(x) + 1));
    const top = Math.max(0, Math.round(y)), bottom = Math.min(height, Math.max(Math.round(y + h), Math.round(y) + 1));
    if (right <= left) return;
    for (let row = top; row < bottom; row++) this.pixels.fill(color, row * width + left, row * width + right);
  }

  frame(x, y, w, h, color, width, height) {
    this.fill(x, y, w, 1, color, width, height);
    this.fill(x, y + h - 1, w, 1, color, width, height);
    this.fill(x, y, 1, h, color, width, height);
    this.fill(x + w - 1, y, 1, h, color, width, height);
  }
}

// For each domain, the first one after all that lie in it; columns are in tree order.
function ends(map, layout) {
  const { parent } = map.domains, found = new Int32Array(parent.length);
  const depth = new Int32Array(parent.length);
  for (let i = 0; i < parent.length; i++) depth[i] = parent[i] < 0 ? 0 : depth[parent[i]] + 1;
  const open = [];
  for (let i = 0; i <= parent.length; i++) {
    const here = i < parent.length ? depth[i] : -1;
    while (open.length && depth[open.at(-1)] >= here) found[open.pop()] = i;
    open.push(i);
  }
  return found;
}
