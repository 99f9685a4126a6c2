// Where every domain and node lies, in units of one cell. Domains are boxes in boxes; columns are in tree order.

const GAP = 1;
const ASPECT = 1.6;
export const MOST_CELLS = 64;

// How high the line with a domain's name is.
export const headOf = (depth, level) => .8 + (depth - level) * .6;

export function laidOut(map) {
  const { domains, nodes } = map;
  const count = domains.name.length, hosts = nodes.name.length;
  let largest = 1;
  for (const size of nodes.size) largest = Math.max(largest, size);
  const single = largest > MOST_CELLS;
  const cells = single ? 1 : largest;
  const columns = single ? 4 : 2 ** Math.ceil(Math.log2(Math.sqrt(cells)));
  const box = { w: columns, h: single ? 2 : Math.ceil(cells / columns) };
  // A level that is the node itself is drawn as the node.
  const alone = nodesAreDomains(map);
  const shown = new Uint8Array(count);
  const children = Array.from({ length: count + 1 }, () => []);
  for (let i = 0; i < count; i++) {
    shown[i] = alone && domains.level[i] === map.levels.length - 1 ? 0 : 1;
    if (shown[i]) children[domains.parent[i] + 1].push(i);
  }
  const inside = Array.from({ length: count + 1 }, () => []);
  for (let i = 0; i < hosts; i++) {
    let domain = nodes.domain[i];
    while (domain >= 0 && !shown[domain]) domain = domains.parent[domain];
    inside[domain + 1].push(i);
  }
  const depth = map.levels.length;
  const x = new Float32Array(count), y = new Float32Array(count), w = new Float32Array(count), h = new Float32Array(count);
  const nodeX = new Float32Array(hosts), nodeY = new Float32Array(hosts);
  // Sizes are worked out from the last domain to the first, since parents come before their children.
  const sizes = new Array(count + 1), places = new Array(count + 1);
  for (let i = count; i >= 0; i--) {
    const level = i === 0 ? -1 : domains.level[i - 1];
    if (i > 0 && !shown[i - 1]) continue;
    const boxes = [];
    for (const child of children[i]) boxes.push({ domain: child, w: sizes[child + 1].w, h: sizes[child + 1].h });
    for (const node of inside[i]) boxes.push({ node, w: box.w + GAP * .5, h: box.h + GAP * .5 });
    const head = i === 0 ? 0 : headOf(depth, level);
    const pad = i === 0 ? 1.5 : .6 + (depth - level - 1) * .3;
    const packed = shelves(boxes, pad);
    places[i] = { boxes, head, pad };
    sizes[i] = { w: packed.w + 2 * pad, h: packed.h + 2 * pad + head };
  }
  for (let i = 0; i <= count; i++) {
    if (i > 0 && !shown[i - 1]) continue;
    const left = i === 0 ? 0 : x[i - 1], top = i === 0 ? 0 : y[i - 1];
    if (i > 0) { w[i - 1] = sizes[i].w; h[i - 1] = sizes[i].h; }
    const { boxes, head, pad } = places[i];
    for (const each of boxes) {
      const atX = left + pad + each.x, atY = top + head + pad + each.y;
      if (each.node === undefined) { x[each.domain] = atX; y[each.domain] = atY; } else { nodeX[each.node] = atX; nodeY[each.node] = atY; }
    }
  }
  return { x, y, w, h, shown, nodeX, nodeY, box, columns, cells, single, width: sizes[0].w, height: sizes[0].h, inside, children };
}

function nodesAreDomains(map) {
  const last = map.levels.length - 1;
  if (last < 0) return false;
  const seen = new Set();
  for (const domain of map.nodes.domain) {
    if (domain < 0 || map.domains.level[domain] !== last) continue;
    if (seen.has(domain)) return false;
    seen.add(domain);
  }
  return seen.size > 0;
}

function shelves(boxes, gap) {
  let area = 0, widest = 0;
  for (const each of boxes) { area += (each.w + gap) * (each.h + gap); widest = Math.max(widest, each.w); }
  const target = Math.max(widest, Math.sqrt(area * ASPECT));
  let x = 0, y = 0, row = 0, width = 0;
  for (const each of boxes) {
    if (x > 0 && x + each.w > target) { x = 0; y += row + gap; row = 0; }
    each.x = x; each.y = y;
    x += each.w + gap;
    width = Math.max(width, x - gap);
    row = Math.max(row, each.h);
  }
  return { w: Math.max(width, 4), h: y + row };
}

