// Colors as 32-bit numbers for pixels, and as text for everything else.

const pack = (r, g, b) => (255 << 24) | (b << 16) | (g << 8) | r;
export const css = (color) => `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;

export const THEMES = {
  light: { paper: pack(246, 247, 249), shades: [pack(233, 236, 241), pack(224, 229, 236), pack(214, 220, 229)], line: pack(160, 170, 185), free: pack(255, 255, 255), closed: pack(120, 126, 136), other: pack(150, 158, 170), ink: "#1b2330", quiet: "#566173", accent: "#d02f1e", lightness: .52 },
  dark: { paper: pack(18, 22, 29), shades: [pack(28, 34, 44), pack(36, 43, 55), pack(44, 52, 66)], line: pack(84, 96, 116), free: pack(58, 67, 84), closed: pack(10, 12, 16), other: pack(120, 130, 146), ink: "#e8edf4", quiet: "#a3afc0", accent: "#ffb199", lightness: .62 },
};

export function hue(number, lightness) {
  return hsl((number * 137.508) % 360, .58 + (number % 3) * .1, lightness + ((number >> 2) % 3 - 1) * .07);
}

export function ramp(share, lightness) {
  return hsl(215 - 205 * Math.min(1, Math.max(0, share)), .65, lightness);
}

function hsl(h, s, l) {
  const a = s * Math.min(l, 1 - l);
  const at = (n) => { const k = (n + h / 30) % 12; return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)))); };
  return pack(at(0), at(8), at(4));
}

export function mixed(color, other, share) {
  const at = (shift) => Math.round(((color >> shift) & 255) * (1 - share) + ((other >> shift) & 255) * share);
  return pack(at(0), at(8), at(16));
}

export function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}
