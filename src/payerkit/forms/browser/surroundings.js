// Draws the banner above the fields of a form: errors that lead to their fields, a request that is sent, its outcome.
// go(name): leads to a field.
const MARKS = { error: '✗', warning: '!', success: '✓', info: 'i', sending: '…' };
const drawBanner = ({ go, timeout, signal }) => {
  const node = create('div', { class: 'banner', tabindex: -1, hidden: '' });
  let shown, clock;
  // What counts every second is not announced.
  const countSeconds = () => {
    const time = create('div', { class: 'seconds', 'aria-hidden': true }), start = Date.now();
    const tick = () => {
      const passed = Math.round((Date.now() - start) / 1000);
      time.textContent = `${passed} s` + (passed < 10 ? '' : `. Each request takes at most ${timeout} s.`);
    };
    clock = setInterval(tick, 1000);
    tick();
    return time;
  };
  const show = (banner) => {
    if (JSON.stringify(banner) === JSON.stringify(shown)) return;
    const before = shown;
    shown = banner;
    clearInterval(clock);
    node.hidden = !banner;
    if (!banner) return;
    const { kind, title, lines = [], details } = banner;
    node.className = `banner pk-${kind === 'sending' ? 'neutral' : kind}`;
    const mark = create('span', { class: 'mark', 'aria-hidden': true }, MARKS[kind]);
    const head = create('div', { class: 'head', role: kind === 'error' ? 'alert' : 'status' }, mark, create('b', {}, title));
    const isList = lines.some(([, name]) => name);
    const rest = create(isList ? 'ul' : 'div', {}, ...lines.map(([text, name]) => create(isList ? 'li' : 'div', {}, name ? button(text, 'link', () => go(name)) : text)));
    const folded = details ? [create('details', {}, create('summary', {}, 'Details'), div('', details))] : [];
    const timed = kind === 'sending' ? [countSeconds()] : [];
    // Its role announces the head, so one whose title stays is left alone.
    node.replaceChildren(before?.title === title ? node.firstChild : head, ...lines.length ? [rest] : [], ...timed, ...folded);
  };
  signal.addEventListener('abort', () => clearInterval(clock));
  return { node, show };
};

// Draws the row of buttons below a form, as Python lists them; those of a form that is done are in a menu, except the next
// step. start(action): starts an action; the button that submits the form does so by the event of the form. Returns the
// row, `show`, and `canSubmit`.
const drawActions = (start) => {
  const node = div('row actions');
  let shown;
  const canSubmit = () => !!node.querySelector('[type="submit"]');
  const drawButton = ([label, action, url, kind]) => {
    const className = kind.includes('primary') ? 'go' : '';
    if (kind.includes('copy')) return setAttributes(drawCopyButton(label, url, '', 'link'), { class: `button ${className}` });
    if (url) return create('a', { class: 'button ' + className, href: url, target: '_blank', rel: 'noopener noreferrer' }, label);
    const each = button(label, className);
    if (action === 'submit') each.type = 'submit';
    // The second click of a double click may meet a button that the first one brought there.
    else each.addEventListener('click', (event) => event.detail > 1 || start(action));
    return each;
  };
  // Buttons about another thing begin another line.
  const isApart = (before, each) => before && each[4] !== before[4];
  const drawRow = (buttons) => buttons.flatMap((each, i) =>
    [...isApart(buttons[i - 1], each) ? [create('hr', { 'aria-hidden': true })] : [], drawButton(each)]);
  const show = (buttons, isDone) => {
    const now = JSON.stringify([buttons, isDone]);
    if (now === shown) return;
    shown = now;
    const isShown = ([, , , kind]) => !isDone || kind.includes('primary'), others = buttons.filter((each) => !isShown(each));
    const menu = create('details', { class: 'more' }, create('summary', { class: 'button' }, 'More'), div('row', ...drawRow(others)));
    const hint = buttons.some(([, action]) => action === 'send') ? [create('span', { class: 'help' }, 'Ctrl+Enter sends.')] : [];
    node.replaceChildren(...drawRow(buttons.filter(isShown)), ...hint, ...others.length ? [menu] : []);
  };
  return { node, show, canSubmit };
};
