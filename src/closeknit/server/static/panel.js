// The words beside the map. All text from the cluster is set as text, never as markup.

import { linkOf, titleOf } from "./model.js";

export function made(tag, text, ...inner) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...inner);
  return element;
}

const HEADINGS = { running: "Where it is", pending: "What would happen now", incomplete: "What it waits for", invalid: "What is wrong" };
const counted = (pods) => `${pods} pod${pods === 1 ? "" : "s"}`;
const quiet = (tag, text) => { const element = made(tag, text); element.className = "quiet"; return element; };

export class Panel {
  constructor(element, content, picked) {
    this.element = element;
    this.content = content;
    this.picked = picked;
  }

  show(...parts) {
    this.content.replaceChildren(...parts);
    this.element.hidden = false;
    this.content.scrollTop = 0;
  }

  close() {
    this.element.hidden = true;
    this.content.replaceChildren();
  }

  row(text, action) {
    const button = made("button", text);
    button.type = "button";
    button.className = "row";
    button.addEventListener("click", action);
    return made("li", "", button);
  }

  list(title, rows, total = rows.length) {
    const items = rows.map((row) => this.row(described(row), () => this.picked(row)));
    const more = total > rows.length ? [quiet("p", `and ${total - rows.length} more; search narrows them down`)] : [];
    this.show(made("h2", title), items.length ? made("ul", "", ...items) : quiet("p", "Nothing here."), ...more);
  }

  async workload(row, ask, rowOf) {
    this.show(made("h2", titleOf(row)), quiet("p", "Asking"));
    if (row.foreign) {
      this.show(made("h2", titleOf(row)), quiet("p", `${row.kind || "Something"} with ${counted(row.pods ?? 0)} that others scheduled.`));
      return null;
    }
    const base = `workloads/${linkOf(row)}`;
    const [found, told] = await Promise.all([ask(base), ask(`${base}/explain`)]);
    const parts = [made("h2", titleOf(row)), quiet("p", heading(row))];
    for (const owner of row.madeFor ?? []) parts.push(quiet("p", `made for ${owner}`));
    if (told) parts.push(made("h3", HEADINGS[row.state ?? "running"]), ...told.sentences.map((text) => made("p", text)));
    const leaving = found.displaces.map(rowOf).filter(Boolean);
    if (leaving.length) parts.push(made("h3", "About to go for it"), made("ul", "", ...leaving.map((each) => this.row(described(each), () => this.picked(each)))));
    if (found.groups.length) parts.push(made("h3", "Groups"), groupTree(found));
    parts.push(made("h3", `Pods (${found.pods.length})`), made("ul", "", ...found.pods.slice(0, 200).map((pod) => made("li", pod.node ? `${pod.name} on ${pod.node}` : `${pod.name}, no node yet`))));
    this.show(...parts);
    return told && { outcome: told.outcome, displaces: found.displaces };
  }

  plan(send) {
    const box = made("textarea");
    box.id = "manifest";
    box.spellcheck = false;
    const label = made("label", "A manifest of any dialect, as you would submit it");
    label.htmlFor = "manifest";
    const button = made("button", "Where would it go?");
    button.type = "button";
    const result = made("div");
    result.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      result.replaceChildren(quiet("p", "Deciding"));
      try {
        result.replaceChildren(...answered(await send(box.value)));
      } catch (error) {
        const text = made("p", error.message);
        text.className = "bad";
        result.replaceChildren(text);
      }
    });
    this.show(made("h2", "What if"), label, box, button, result);
    box.focus();
  }
}

function answered(plan) {
  const parts = [];
  for (const problem of plan.problems) {
    const text = made("p", problem.message);
    text.className = "bad";
    parts.push(text);
  }
  for (const { outcome, sentences } of plan.outcomes) {
    const { kind, namespace, name } = outcome.workload;
    parts.push(made("h3", `${kind} ${namespace ? `${namespace}/` : ""}${name}: ${outcome.status}`), ...sentences.map((text) => made("p", text)));
  }
  return parts.length ? parts : [quiet("p", "The text asks for nothing.")];
}

function groupTree({ groups, pods }) {
  const items = new Map();
  const root = made("ul");
  for (const group of groups) {
    const asks = [group.required && `requires one ${group.required}`, group.preferred && `prefers one ${group.preferred}`].filter(Boolean);
    const there = pods.filter((pod) => pod.group === group.name && pod.node).length;
    const inner = made("ul");
    const words = `${group.name}: ${counted(group.pods)}${there ? `, ${there} on nodes` : ""}${asks.length ? `; ${asks.join(", ")}` : ""}`;
    (items.get(group.parent) ?? root).append(made("li", words, inner));
    items.set(group.name, inner);
  }
  return root;
}

function heading(row) {
  const parts = [`${row.kind}, ${row.state ?? "running"}`, `${counted(row.pods ?? 0)} on nodes`];
  if (row.open) parts.push(`${row.open} waiting`);
  if (row.queue) parts.push(`queue ${row.queue}`);
  if (row.priority) parts.push(`priority ${row.priority}`);
  return parts.join(", ");
}

export function described(row) {
  return `${titleOf(row)} (${row.foreign ? `${row.kind || "something"} of others, ${counted(row.pods ?? 0)}` : heading(row)})`;
}
