// What stands around the fields of a form.

// Draws the banner above the fields of a form: errors that lead to their fields, a request that is sent, its outcome.
// go(name): leads to a field. setReady(isReady): says whether sending may succeed now.
const MARKS = { error: '✗', warning: '!', success: '✓', info: 'i', sending: '…' };
const drawBanner = ({ go, setReady, timeout }) => {
  const node = setAttributes(div('banner'), { tabindex: -1 });
  let shown, clock;
  // Calls `say` every second with the seconds that passed.
  const count = (say) => {
    const start = Date.now(), tick = () => say(Math.round((Date.now() - start) / 1000));
    clock = setInterval(tick, 1000);
    tick();
  };
  const countSeconds = () => {
    const time = create('span', { class: 'seconds', 'aria-hidden': true }), note = create('span', {});
    count((passed) => {
      time.textContent = `${passed} s`;
      if (passed >= 10) note.textContent = `Each request takes at most ${timeout} s.`;
    });
    return div('sub', time, note);
  };
  const countDown = (wait) => {
    const time = div(''), end = setAttributes(div(''), { 'aria-live': 'polite' }); // what counts every second is not announced
    setReady(false);
    count((passed) => {
      if (passed < wait) {
        time.textContent = `You can try again in ${wait - passed} s.`;
        return;
      }
      clearInterval(clock);
      time.textContent = '';
      end.textContent = 'You can try again now.';
      setReady(true);
    });
    return div('', time, end);
  };
  const link = (text, name) => button(text, 'link', () => go(name));
  const show = (banner) => {
    const now = JSON.stringify(banner);
    if (now === shown) return;
    const isSame = shown && banner && node.dataset.title === banner.title;
    shown = now;
    clearInterval(clock);
    setReady(true);
    node.hidden = !banner;
    if (!banner) return;
    const { kind, title, lines = [], details, wait } = banner;
    node.className = 'banner ' + kind;
    // Its role announces it, so a title that stays is left alone.
    if (!isSame) {
      node.dataset.title = title;
      const mark = create('span', { class: 'mark', 'aria-hidden': true }, MARKS[kind]);
      node.replaceChildren(setAttributes(div('head', mark, create('b', {}, title)), { role: kind === 'error' ? 'alert' : 'status' }));
    }
    const isList = lines.some(([, name]) => name);
    const rest = isList ? create('ul', {}, ...lines.map(([text, name]) => create('li', {}, name ? link(text, name) : text)))
      : div('', ...lines.map(([text]) => div('', text)));
    const folded = details ? [create('details', {}, create('summary', {}, 'Details'), div('', details))] : [];
    const timed = kind === 'sending' ? [countSeconds()] : wait ? [countDown(wait)] : [];
    node.replaceChildren(node.firstChild, ...lines.length ? [rest] : [], ...timed, ...folded);
  };
  node.hidden = true;
  return { node, show, stop: () => clearInterval(clock) };
};

// Draws the summary of a form before it is sent, with links back to its fields; while it is sent, without them.
const drawAnswers = (change) => {
  const heading = create('h4', { tabindex: -1 }, 'Check your answers');
  const node = div('answers'), note = ([severity, text, basis]) => div(severity, text, ' ', create('small', {}, basis));
  const drawRow = (canChange) => ([name, label, value, notes]) => {
    const row = div('answer', create('dt', {}, label), create('dd', {}, value, ...notes.map(note)));
    if (canChange) {
      const link = setAttributes(button('Change', 'link', () => change(name)), { 'aria-label': 'Change ' + label });
      row.append(create('dd', {}, link));
    }
    return row;
  };
  const show = (sections, phase) => {
    const canChange = phase === 'review';
    node.hidden = !sections;
    if (!sections) return node.replaceChildren();
    heading.textContent = canChange ? 'Check your answers' : phase === 'unknown' ? 'What was sent' : 'Your answers';
    return node.replaceChildren(heading, ...sections.flatMap(([title, rows]) =>
      [create('h5', {}, title), create('dl', {}, ...rows.map(drawRow(canChange)))]));
  };
  return { node, heading, show };
};

// Draws the row of buttons below a form, as Python lists them. start(action): starts an action; the button that submits
// the form does so by the event of the form. Returns the row, `show`, `setReady`, and `canSubmit`.
const drawActions = (start) => {
  const node = div('row actions');
  let shown, isReady = true;

  const isTooEarly = (each) => each.ariaDisabled === 'true';
  // Python knows which of its buttons may send; the page adds that now is too early.
  const setReady = (ready) => {
    isReady = ready;
    for (const each of node.querySelectorAll('.go')) setAttributes(each, { 'aria-disabled': !isReady });
  };
  const canSubmit = () => {
    const primary = node.querySelector('.go[type="submit"]');
    return !!primary && !isTooEarly(primary);
  };

  const copy = async (copyButton, url) => {
    try {
      await navigator.clipboard.writeText(url);
      copyButton.textContent = 'Copied ✓';
      setTimeout(() => { copyButton.textContent = 'Copy link'; }, 2000);
    } catch {
      // Without the right to write to the clipboard, the link is selected, to be copied by hand.
      const field = setAttributes(create('input', { value: url, readonly: true }), { 'aria-label': 'The link: copy it with Ctrl+C' });
      copyButton.replaceWith(field);
      field.select();
    }
  };
  const drawCopyButton = (label, url, about) => {
    const copyButton = setAttributes(button(label, '', () => copy(copyButton, url)), { 'aria-label': `${label}: ${about}` });
    return copyButton;
  };
  const drawButton = ([label, action, url, kind, about]) => {
    const className = kind === 'primary' ? 'go' : '';
    if (kind === 'copy') return drawCopyButton(label, url, about);
    if (url) return create('a', { class: 'button ' + className, href: url, target: '_blank', rel: 'noopener noreferrer' }, label);
    const each = button(label, className);
    each.type = action === 'submit' ? 'submit' : 'button';
    // The second click of a double click may meet a button that the first one brought there.
    if (action !== 'submit') each.addEventListener('click', (event) => event.detail > 1 || isTooEarly(each) || start(action));
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
