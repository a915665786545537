// Returns what is wrong with the looks of the widgets that a selector finds: text with too little contrast, and what is
// cut off or needs scrolling sideways.
(selector) => {
  const found = new Set();
  const name = (node) => `${node.tagName.toLowerCase()}.${[...node.classList].join('.')} "${node.textContent.trim().slice(0, 30)}"`;
  const pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const known = {};
  const colour = (text) => known[text] ??= readColour(text);
  const readColour = (text) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = text;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (upper, lower) => [0, 1, 2].map((i) => upper[i] * upper[3] + lower[i] * (1 - upper[3]));
  // The colour below a node's text: its own ground over those of what it stands in.
  const ground = (node) => {
    const layers = [];
    for (let each = node; each; each = each.parentElement ?? each.getRootNode().host) layers.push(colour(getComputedStyle(each).backgroundColor));
    const page = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    return layers.reverse().reduce((below, layer) => over(layer, below), page);
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((value) => value / 255).map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const opacity = (node) => node ? +getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
  const check = (what, text, below, wanted) => {
    const measured = contrast(over(text, below), below);
    if (measured < wanted) found.add(`contrast ${measured.toFixed(1)} < ${wanted}: ${what}`);
  };
  const checkText = (node) => {
    const style = getComputedStyle(node), below = ground(node), [red, green, blue, alpha] = colour(style.color);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    check(name(node), [red, green, blue, alpha * opacity(node)], below, isLarge ? 3 : 4.5);
  };
  const isShown = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const isPlain = (node) => !node.closest('.sr, [aria-hidden="true"], :disabled, [aria-disabled="true"]');
  for (const root of document.querySelectorAll(selector)) {
    if (!isShown(root)) continue;
    const edge = root.getBoundingClientRect().right + 1;
    if (root.scrollWidth > root.clientWidth + 1) found.add(`sideways: the form is ${root.scrollWidth - root.clientWidth} px too wide`);
    for (const node of root.querySelectorAll('*')) {
      if (!isShown(node) || node.matches('style, option, svg *')) continue;
      const style = getComputedStyle(node), rect = node.getBoundingClientRect();
      if (rect.width > 1 && rect.right > edge && !node.closest('[popover]')) found.add(`cut off: ${name(node)}`);
      if (style.overflowX !== 'visible' && node.scrollWidth > node.clientWidth + 1 && rect.width > 1 && !node.matches('input')) found.add(`sideways: ${name(node)}`);
      if (isPlain(node) && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) checkText(node);
      if (node.matches('input:enabled, select:enabled') && !node.matches('[type="checkbox"], [type="radio"]')) {
        const below = ground(node.parentElement);
        check('edge of a field', colour(style.borderTopColor), below, 3);
        if (node.value) checkText(node);
        const example = getComputedStyle(node, '::placeholder');
        if (!node.value && node.placeholder && +example.opacity) check('placeholder', colour(example.color), ground(node), 4.5);
      }
    }
  }
  return [...found];
}
