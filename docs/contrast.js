// Texts of a document whose contrast with what is behind them is below that of WCAG 2.1, AA: 4.5, or 3 for large ones.
function faint(inner) {
  const numbers = colour => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return colour.startsWith("color(") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[3] * top[i] + (1 - top[3]) * below[i]).concat(1);
  const light = colour => {
    const [r, g, b] = colour.map(x => x / 255).map(x => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const known = new Map();
  const behind = element => {
    if (!element) return [255, 255, 255, 1];
    if (!known.has(element)) {
      const layer = numbers(inner.getComputedStyle(element).backgroundColor);
      known.set(element, layer[3] === 1 ? layer : over(layer, behind(element.parentElement)));
    }
    return known.get(element);
  };
  const found = {}, walker = inner.document.createTreeWalker(inner.document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || element.closest("svg, script, style, noscript, mjx-container, .MathJax")) continue;
    const box = element.getBoundingClientRect(), style = inner.getComputedStyle(element);
    if (box.width < 2 || box.height < 2 || style.visibility !== "visible" || Number(style.opacity) === 0) continue;
    const below = behind(element), [one, other] = [light(over(numbers(style.color), below)), light(below)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5))
      found[style.color + " on " + below.slice(0, 3).map(Math.round) + " " + element.className] =
        ratio.toFixed(2) + " for " + text.slice(0, 40);
  }
  return Object.entries(found).map(one => one.join(": "));
}
