// Draws the banner above the fields of a form: errors that lead to their fields, a request that is sent, its outcome.
// go(name): leads to a field. setReady(isReady): says whether sending may succeed now.
const MARKS = { error: '✗', warning: '!', success: '✓', info: 'i', sending: '…' };
const drawBanner = ({ go, setReady, timeout, signal }) => {
  const node = create('div', { class: 'banner', tabindex: -1, hidden: '' });
  let shown, clock;
  // Calls `say` every second with the seconds that passed.
  const count = (say) => {
    const start = Date.now(), tick = () => say(Math.round((Date.now() - start) / 1000));
    clock = setInterval(tick, 1000);
    tick();
  };
  // What counts every second is not announced.
  const countSeconds = () => {
    const time = create('div', { class: 'seconds', 'aria-hidden': true });
    count((passed) => { time.textContent = `${passed} s` + (passed < 10 ? '' : `. Each request takes at most ${timeout} s.`); });
    return time;
  };
  const countDown = (wait) => {
    const time = div(''), end = create('div', { 'aria-live': 'polite' });
    count((passed) => {
      const isOver = passed >= wait;
      setReady(isOver);
      time.textContent = isOver ? '' : `You can try again in ${wait - passed} s.`;
      if (!isOver) return;
      clearInterval(clock);
      end.textContent = 'You can try again now.';
    });
    return div('', time, end);
  };
  const show = (banner) => {
    if (JSON.stringify(banner) === JSON.stringify(shown)) return;
    const before = shown;
    shown = banner;
    clearInterval(clock);
    setReady(true);
    node.hidden = !banner;
    if (!banner) return;
    const { kind, title, lines = [], details, wait } = banner;
    node.className = `banner pk-${kind === 'sending' ? 'neutral' : kind}`;
    const mark = create('span', { class: 'mark', 'aria-hidden': true }, MARKS[kind]);
    const head = create('div', { class: 'head', role: kind === 'error' ? 'alert' : 'status' }, mark, create('b', {}, title));
    const isList = lines.some(([, name]) => name);
    const rest = create(isList ? 'ul' : 'div', {}, ...lines.map(([text, name]) => create(isList ? 'li' : 'div', {}, name ? button(text, 'link', () => go(name)) : text)));
    const folded = details ? [create('details', {}, create('summary', {}, 'Details'), div('', details))] : [];
    const timed = kind === 'sending' ? [countSeconds()] : wait ? [countDown(wait)] : [];
    // Its role announces the head, so one whose title stays is left alone.
    node.replaceChildren(before?.title === title ? node.firstChild : head, ...lines.length ? [rest] : [], ...timed, ...folded);
  };
  signal.addEventListener('abort', () => clearInterval(clock));
  return { node, show };
};

// Draws the row of buttons below a form, as Python lists them. start(action): starts an action; the button that submits
// the form does so by the event of the form. Returns the row, `show`, `setReady`, and `canSubmit`.
const drawActions = (start) => {
  const node = div('row actions');
  let shown, isReady = true;
  // Python knows which of its buttons may send; the page adds that now is too early.
  const setReady = (ready) => {
    isReady = ready;
    for (const each of node.querySelectorAll('.go')) each.ariaDisabled = !isReady;
  };
  const canSubmit = () => !!node.querySelector('.go[type="submit"]:not([aria-disabled="true"])');
  const drawButton = ([label, action, url, kind, about]) => {
    const className = kind === 'primary' ? 'go' : '';
    if (kind === 'copy') return drawCopyButton(label, url, about, 'link');
    if (url) return create('a', { class: 'button ' + className, href: url, target: '_blank', rel: 'noopener noreferrer' }, label);
    const each = button(label, className);
    if (action === 'submit') each.type = 'submit';
    // The second click of a double click may meet a button that the first one brought there.
    else each.addEventListener('click', (event) => event.detail > 1 || each.ariaDisabled === 'true' || start(action));
    return each;
  };
  const show = (buttons) => {
    const now = JSON.stringify(buttons);
    if (now === shown) return;
    shown = now;
    // Buttons about another thing begin another line.
    const isApart = ([, , , , about], i) => i && about !== buttons[i - 1][4];
    node.replaceChildren(...buttons.flatMap((each, i) => [...isApart(each, i) ? [create('hr', { 'aria-hidden': true })] : [], drawButton(each)]));
    setReady(isReady);
  };
  return { node, show, setReady, canSubmit };
};
