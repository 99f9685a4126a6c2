// Which part of the map is shown, moved by mouse, finger and keyboard.

const CLOSEST = 48;

export class Camera {
  constructor(element, changed) {
    this.element = element;
    this.changed = changed;
    this.x = 0; this.y = 0; this.scale = 1; this.least = .01;
    this.fingers = new Map();
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * .0015), event.offsetX, event.offsetY);
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, event);
      this.travelled = 0;
    });
    element.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"])
      element.addEventListener(name, (event) => this.fingers.delete(event.pointerId));
    element.addEventListener("keydown", (event) => {
      const step = 60;
      const by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
      if (by) this.pan(-by[0], -by[1]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(.8);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const dx = event.offsetX - before.offsetX, dy = event.offsetY - before.offsetY;
    this.travelled += Math.abs(dx) + Math.abs(dy);
    if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, each]) => each);
      const apart = (a, b) => Math.hypot(a.offsetX - b.offsetX, a.offsetY - b.offsetY);
      this.zoom(apart(event, other) / Math.max(1, apart(before, other)), (event.offsetX + other.offsetX) / 2, (event.offsetY + other.offsetY) / 2);
    } else this.pan(dx, dy);
    this.fingers.set(event.pointerId, event);
  }

  get dragged() { return this.travelled > 4; }

  pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.changed();
  }

  zoom(by, atX = this.element.clientWidth / 2, atY = this.element.clientHeight / 2) {
    const scale = Math.min(CLOSEST, Math.max(this.least, this.scale * by));
    this.x += atX / this.scale - atX / scale;
    this.y += atY / this.scale - atY / scale;
    this.scale = scale;
    this.changed();
  }

  bound(width, height) {
    this.world = { width, height };
    this.least = this.whole() / 4;
  }

  whole() {
    const { clientWidth, clientHeight } = this.element;
    return Math.min(CLOSEST, clientWidth / this.world.width, clientHeight / this.world.height);
  }

  fit() { this.showBox(0, 0, this.world.width, this.world.height); }

  showBox(x, y, w, h) {
    const { clientWidth, clientHeight } = this.element;
    this.scale = Math.min(CLOSEST / 2, clientWidth / w, clientHeight / h) * .96;
    this.x = x - (clientWidth / this.scale - w) / 2;
    this.y = y - (clientHeight / this.scale - h) / 2;
    this.changed();
  }
}
