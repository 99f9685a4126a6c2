// Puts the map together: reads it, follows it, and answers to what people do.

import { Camera } from "./camera.js";
import { css } from "./colors.js";
import { drawLabels } from "./labels.js";
import { laidOut } from "./layout.js";
import { Model, linkOf, titleOf } from "./model.js";
import { Panel, described } from "./panel.js";
import { Picture } from "./picture.js";
import { svgOf } from "./saving.js";

const at = (id) => document.getElementById(id);
const ROOT = "api/v1/";
const state = new URLSearchParams(location.hash.slice(1));
const picture = new Picture(at("cells"));
const camera = new Camera(at("map"), redraw);
const panel = new Panel(at("panel"), at("content"), (row) => pick(row));
let model, layout, stream, marks = [], dirty = false, frames = 0;

async function ask(path, options) {
  const response = await fetch(ROOT + path, options);
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.detail ?? response.statusText), { status: response.status });
  return body;
}

async function read() {
  stream?.close();
  const topology = state.get("topology") ?? "";
  const query = topology ? `?topology=${encodeURIComponent(topology)}` : "";
  let map, past;
  try {
    [map, past] = [await ask(`map${query}`), await ask(`timeline${query}`)];
  } catch (error) {
    at("summary").textContent = error.message;
    if (error.status === 401) { at("sign-in").showModal(); return; }
    if (topology) { remember("topology", ""); return read(); }
    setTimeout(read, 2000);
    return;
  }
  model = new Model(map);
  model.steps = past.generation === map.generation ? past.steps.filter((step) => step.version <= map.version) : [];
  layout = laidOut(map);
  at("topology").replaceChildren(...map.topologies.map((name) => new Option(name, name, false, name === map.topology)));
  at("topology").disabled = map.topologies.length < 2;
  resize();
  picture.show(model, layout);
  camera.bound(layout.width, layout.height);
  const place = ["x", "y", "z"].map((name) => Number(state.get(name)));
  if (state.has("z") && place.every(Number.isFinite) && place[2] > 0) [camera.x, camera.y, camera.scale] = place;
  else camera.fit();
  summarize();
  moments();
  redraw();
  follow(map);
  restore();
}

at("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const only = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `closeknit-token=${encodeURIComponent(at("token").value)}; path=/; SameSite=Strict${only}`;
  at("token").value = "";
  at("sign-in").close();
  read();
});

function follow(map) {
  const query = new URLSearchParams({ topology: map.topology, generation: map.generation, version: model.version });
  stream = new EventSource(`${ROOT}events?${query}`);
  stream.addEventListener("update", (event) => {
    const changed = model.apply(JSON.parse(event.data));
    if (model.past === null) {
      picture.known = new Map();
      for (const node of changed) picture.paint(node);
    }
    summarize();
    moments();
    redraw();
  });
  stream.addEventListener("reset", read);
  stream.addEventListener("error", () => {
    // After a lost connection the whole map is read again, since the server may be another one.
    if (stream.readyState !== EventSource.CLOSED) stream.close();
    setTimeout(read, 1000);
  });
}

// ------------------------------------------------------------------------------------------------- drawing

function resize() {
  const ratio = Math.min(2, devicePixelRatio || 1), { clientWidth, clientHeight } = at("map");
  picture.resize(Math.max(1, clientWidth), Math.max(1, clientHeight));
  at("labels").width = clientWidth * ratio;
  at("labels").height = clientHeight * ratio;
}

function redraw() {
  if (dirty || !model) return;
  dirty = true;
  requestAnimationFrame(() => {
    dirty = false;
    picture.draw(camera);
    drawLabels(at("labels"), picture, camera, Math.min(2, devicePixelRatio || 1), marks);
    frames++;
  });
}

function repaint() {
  picture.paintAll();
  redraw();
}

function summarize() {
  let used = 0, size = 0, pending = 0;
  for (let node = 0; node < model.held.length; node++) { used += model.used(node); size += model.map.nodes.size[node]; }
  for (const row of model.workloads.values()) pending += ["pending", "incomplete", "invalid"].includes(row.state);
  const share = size ? ` ${Math.round(100 * used / size)} % of ${model.map.resource} in use,` : "";
  at("summary").textContent = `${model.held.length} nodes,${share} ${model.workloads.size} workloads, ${pending} waiting`;
}

// --------------------------------------------------------------------------------------------------- moments

function moments() {
  const slider = at("moment"), atEnd = slider.value === slider.max;
  slider.max = model.steps.length;
  if (atEnd) slider.value = slider.max;
  else tellMoment();
}

function tellMoment() {
  const count = Number(at("moment").value), now = count >= model.steps.length;
  at("now").hidden = now;
  const step = model.steps[Math.max(0, count - 1)];
  const row = step && model.workloads.get(step.workload);
  const what = step ? `${new Date(step.time * 1000).toLocaleTimeString()}, ${row ? titleOf(row) : "a workload"} ${step.pods < 0 ? `gave back ${-step.pods}` : `got ${step.pods}`} pods` : "the first that is known";
  at("when").textContent = now ? "now" : what;
}

at("moment").addEventListener("input", () => {
  model.goTo(Number(at("moment").value));
  tellMoment();
  repaint();
});
at("now").addEventListener("click", () => {
  at("moment").value = at("moment").max;
  at("moment").dispatchEvent(new Event("input"));
});

// --------------------------------------------------------------------------------------------------- picking

function remember(name, value) {
  if (value) state.set(name, value); else state.delete(name);
  history.replaceState(null, "", `#${state}`);
}

let placing;
function rememberPlace() {
  clearTimeout(placing);
  placing = setTimeout(() => {
    remember("x", camera.x.toFixed(2)); remember("y", camera.y.toFixed(2)); remember("z", camera.scale.toFixed(4));
  }, 400);
}
for (const name of ["wheel", "pointerup", "keyup"]) at("map").addEventListener(name, rememberPlace, { passive: true });

async function pick(row) {
  picture.selected = row.id;
  marks = [];
  repaint();
  remember("workload", row.foreign ? "" : linkOf(row));
  const nodes = model.nodesOf(row.id);
  if (nodes.length) around(nodes);
  try {
    const told = await panel.workload(row, ask, (id) => model.workloads.get(id));
    if (told && picture.selected === row.id) mark(told.outcome, told.displaces);
  } catch (error) {
    panel.list(error.message, []);
  }
}

// Frames around the domains that came close, with how many pods each could take, and around who goes for it.
function mark(outcome, displaced = []) {
  marks = displaced.flatMap((id) => model.nodesOf(id)).map((node) => ({ x: layout.nodeX[node], y: layout.nodeY[node], w: layout.box.w, h: layout.box.h, text: "to go", dashed: true }));
  for (const short of outcome.shortfalls ?? [])
    for (const fit of short.best) {
      const domain = model.domainAt(fit.domain);
      if (domain >= 0 && layout.shown[domain]) marks.push(boxOf(domain, `${fit.atLeast ? "at least " : ""}${fit.fits} of ${short.wanted} fit`, true));
    }
  ghost(outcome);
  if (marks.length) camera.showBox(...enclosing(marks));
  redraw();
}

const boxOf = (domain, text, dashed) => ({ x: layout.x[domain], y: layout.y[domain], w: layout.w[domain], h: layout.h[domain], text, dashed });

// Frames around the nodes that a plan would use.
function ghost(outcome) {
  const counts = new Map();
  for (const pod of outcome.pods ?? []) counts.set(pod.node, (counts.get(pod.node) ?? 0) + 1);
  for (const [name, count] of counts) {
    const node = model.byName.get(name);
    if (node !== undefined) marks.push({ x: layout.nodeX[node], y: layout.nodeY[node], w: layout.box.w, h: layout.box.h, text: counts.size < 200 ? `${count}` : "", dashed: false });
  }
}

function around(nodes) {
  const boxes = nodes.map((node) => ({ x: layout.nodeX[node], y: layout.nodeY[node], w: layout.box.w, h: layout.box.h }));
  camera.showBox(...enclosing(boxes));
}

function enclosing(boxes) {
  let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
  for (const each of boxes) {
    left = Math.min(left, each.x); top = Math.min(top, each.y);
    right = Math.max(right, each.x + each.w); bottom = Math.max(bottom, each.y + each.h);
  }
  const room = Math.max(8, (right - left) * .2);
  return [left - room, top - room, right - left + 2 * room, bottom - top + 2 * room];
}

function unpick() {
  picture.selected = null;
  marks = [];
  remember("workload", "");
  panel.close();
  repaint();
}

function nodeAt(event) {
  const x = camera.x + event.offsetX / camera.scale, y = camera.y + event.offsetY / camera.scale;
  for (let node = 0; node < layout.nodeX.length; node++)
    if (x >= layout.nodeX[node] && y >= layout.nodeY[node] && x < layout.nodeX[node] + layout.box.w && y < layout.nodeY[node] + layout.box.h) return node;
  return -1;
}

at("map").addEventListener("pointermove", (event) => {
  const tip = at("tip"), node = model && !event.buttons ? nodeAt(event) : -1;
  tip.hidden = node < 0;
  if (node < 0) return;
  const lines = [...model.path(model.map.nodes.domain[node]), model.map.nodes.name[node]].filter((name, i, all) => name !== all[i - 1]);
  const held = model.on(node).slice(0, 8).map(([workload, amount]) => `${titleOf(model.workloads.get(workload) ?? { name: "?" })}: ${amount}`);
  tip.textContent = [lines.join(" / "), `${model.used(node)} of ${model.map.nodes.size[node]} ${model.map.resource} in use`, ...(model.closed.has(node) ? ["takes no pods"] : []), ...held].join("\n");
  tip.style.left = `${Math.min(event.offsetX + 12, at("map").clientWidth - 220)}px`;
  tip.style.top = `${Math.min(event.offsetY + 12, at("map").clientHeight - 90)}px`;
});

at("map").addEventListener("click", (event) => {
  if (camera.dragged || !model) return;
  const node = nodeAt(event);
  if (node < 0) return unpick();
  const on = model.on(node).map(([workload]) => model.workloads.get(workload)).filter(Boolean);
  if (on.length === 1) pick(on[0]);
  else panel.list(model.map.nodes.name[node], on);
});

// ---------------------------------------------------------------------------------------------------- asking

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("find").value.trim().toLowerCase();
  if (!text || !model) return;
  const matches = (name) => name.toLowerCase().includes(text);
  const rows = [...model.workloads.values()].filter((row) => matches(titleOf(row)) || matches(row.queue ?? "") || (row.madeFor ?? []).some(matches));
  const nodes = model.map.nodes.name.flatMap((name, i) => matches(name) ? [i] : []);
  const domains = model.map.domains.name.flatMap((name, i) => matches(name) && layout.shown[i] ? [i] : []);
  if (rows.length === 1 && !nodes.length && !domains.length) return pick(rows[0]);
  panel.list(`Found for ${at("find").value}`, rows.slice(0, 100), rows.length);
  const list = at("content").querySelector("ul") ?? at("content").appendChild(document.createElement("ul"));
  for (const domain of domains.slice(0, 50)) list.append(panel.row(`domain ${model.path(domain).join(" / ")}`, () => { marks = [boxOf(domain, "", false)]; camera.showBox(...enclosing(marks)); }));
  for (const node of nodes.slice(0, 50)) list.append(panel.row(`node ${model.map.nodes.name[node]}`, () => { marks = []; around([node]); }));
});

at("show-workloads").addEventListener("click", () => {
  const rows = [...model.workloads.values()].sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
  panel.list("Workloads", rows.slice(0, 300), rows.length);
});
at("show-queue").addEventListener("click", async () => {
  const { items, total } = await ask("queue?limit=300");
  panel.list("Waiting, in the order in which they will be tried", items, total);
});
at("show-plan").addEventListener("click", () => {
  panel.plan(async (text) => {
    const plan = await ask("plan", { method: "POST", body: text, headers: { "Content-Type": "application/yaml" } });
    marks = [];
    for (const { outcome } of plan.outcomes) mark(outcome);
    return plan;
  });
});
at("close").addEventListener("click", unpick);
at("fit").addEventListener("click", () => { camera.fit(); rememberPlace(); });
at("topology").addEventListener("change", () => {
  for (const name of ["x", "y", "z"]) state.delete(name);
  remember("topology", at("topology").value);
  read();
});
at("color").addEventListener("change", () => {
  picture.colorBy = at("color").value;
  remember("color", picture.colorBy);
  repaint();
});
at("theme").addEventListener("click", () => { theme(picture.theme === "dark" ? "light" : "dark"); remember("theme", picture.theme); });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") unpick();
  else if (event.key === "/" && !["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) { event.preventDefault(); at("find").focus(); }
});
new ResizeObserver(() => { if (model) { resize(); redraw(); } }).observe(at("map"));

function theme(name) {
  picture.theme = name;
  document.documentElement.classList.toggle("dark", name === "dark");
  at("theme").setAttribute("aria-pressed", String(name === "dark"));
  if (model) repaint();
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
at("save-png").addEventListener("click", () => {
  const both = document.createElement("canvas");
  both.width = at("labels").width; both.height = at("labels").height;
  const context = both.getContext("2d");
  context.drawImage(at("cells"), 0, 0, both.width, both.height);
  context.drawImage(at("labels"), 0, 0);
  both.toBlob((blob) => save(blob, "closeknit.png"));
});
at("save-svg").addEventListener("click", () => save(new Blob([svgOf(picture, camera, at("map").clientWidth, at("map").clientHeight)], { type: "image/svg+xml" }), "closeknit.svg"));

// Show what a link asks for.
function restore() {
  const link = state.get("workload");
  if (!link) return;
  const row = [...model.workloads.values()].find((each) => !each.foreign && linkOf(each) === link);
  if (row) pick(row);
}

picture.colorBy = at("color").value = ["queue", "priority", "use"].includes(state.get("color")) ? state.get("color") : "workload";
theme(state.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
// For whoever measures: how many pictures were drawn, and what they show.
globalThis.closeknit = { get frames() { return frames; }, get drawn() { return picture.drawn; }, get model() { return model; }, camera, described, css };
read();
