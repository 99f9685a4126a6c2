// What the map shows, kept up to date by updates, and what it showed at earlier moments.

export class Model {
  constructor(map) {
    this.map = map;
    this.version = map.version;
    this.workloads = new Map(map.workloads.map((row) => [row.id, row]));
    this.held = Array.from({ length: map.nodes.name.length }, () => []);
    const { node, workload, amount, pods } = map.holdings;
    for (let i = 0; i < node.length; i++) this.held[node[i]].push([workload[i], amount[i], pods[i]]);
    this.steps = [];
    this.past = null;
    this.closed = new Set(map.nodes.closed);
    this.byName = new Map(map.nodes.name.map((name, i) => [name, i]));
  }

  // Take in an update; returns the nodes that look otherwise now.
  apply(update) {
    this.version = update.version;
    for (const row of update.workloads) this.workloads.set(row.id, row);
    for (const id of update.gone) this.workloads.delete(id);
    for (const [node, held] of update.nodes) this.held[node] = held;
    this.steps.push(...update.steps);
    if (this.steps.length > 4000) this.steps.splice(0, this.steps.length - 4000);
    return update.nodes.map(([node]) => node);
  }

  // Show the cluster as it was after the first `count` steps; all of them for now.
  goTo(count) {
    if (count >= this.steps.length) { this.past = null; return; }
    const past = new Map();
    for (let i = this.steps.length - 1; i >= count; i--) {
      const step = this.steps[i];
      for (const [node, amount] of step.moved) {
        if (!past.has(node)) past.set(node, new Map(this.held[node].map(([workload, held]) => [workload, held])));
        const there = past.get(node);
        there.set(step.workload, (there.get(step.workload) ?? 0) - amount);
      }
    }
    this.past = past;
  }

  // Pairs of workload and amount on a node, at the moment that is shown.
  on(node) {
    const before = this.past?.get(node);
    if (before) return [...before].filter(([, amount]) => amount > 0);
    return this.held[node].map(([workload, amount]) => [workload, amount]);
  }

  used(node) {
    let sum = 0;
    for (const [, amount] of this.on(node)) sum += amount;
    return sum;
  }

  path(domain) {
    const names = [];
    for (let i = domain; i >= 0; i = this.map.domains.parent[i]) names.unshift(this.map.domains.name[i]);
    return names;
  }

  domainAt(path) {
    const { parent, name } = this.map.domains;
    let around = -1;
    for (const part of path) {
      const found = name.findIndex((each, i) => each === part && parent[i] === around);
      if (found < 0) return -1;
      around = found;
    }
    return around;
  }

  nodesOf(workload) {
    const found = [];
    for (let node = 0; node < this.held.length; node++)
      if (this.on(node).some(([id]) => id === workload)) found.push(node);
    return found;
  }
}

export const titleOf = (row) => `${row.namespace ? `${row.namespace}/` : ""}${row.name}`;
export const linkOf = (row) => [row.kind, row.namespace || "-", row.name].map(encodeURIComponent).join("/");
