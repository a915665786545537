// Shows the rows of a report or plan by the page. The rows stay in the kernel: each page is asked for, and what it shows
// is in no widget state. `wanted` has the filters and the order. Of each type, only the reply to the latest request counts.
const ANY = { state: '', reason: -1, text: '' };

const draw = ({ model, el }) => {
  const { title, columns, file } = model.get('spec');
  const id = 'r' + Math.random().toString(36).slice(2), count = new Intl.NumberFormat('en').format;
  let wanted = { ...ANY, sort: 'state', descending: false }, start = 0, request = 0, view, timer, toReplace = '';
  let isCounted = false, isPressed = false, postponed;
  const latest = {};

  const chips = setAttributes(div('chips'), { role: 'group', 'aria-label': 'State' });
  const search = create('input', { id: id + 's', type: 'search', autocomplete: 'off', spellcheck: false });
  const summary = create('summary', {}), reasons = create('ul', {}), details = create('details', { class: 'reasons' }, summary, reasons);
  const head = create('tr', {}), body = create('tbody', {});
  const region = create('div', { class: 'region', role: 'group', tabindex: 0, 'aria-label': 'Rows' }, create('table', {}, create('thead', {}, head), body));
  const place = create('span', {}), status = setAttributes(div('status'), { role: 'status' });
  const path = create('input', { id: id + 'f', autocomplete: 'off', spellcheck: false });
  path.value = file;

  const say = (text, kind = '') => {
    status.className = 'status ' + kind;
    status.textContent = text;
  };
  const send = (message) => {
    clearTimeout(timer);
    timer = setTimeout(() => say('The kernel has not replied yet. It may be busy with another cell.'), 2000);
    try {
      latest[message.type] = ++request;
      model.send({ ...message, wanted, page: id, request });
    } catch {
      clearTimeout(timer);
      say('The kernel was restarted. Run the cell again.', 'error');
    }
  };
  const ask = (changes = {}, at = 0) => {
    wanted = { ...wanted, ...changes };
    isCounted &&= !Object.keys(changes).length;
    start = at;
    send({ type: 'page', start });
  };

  // A button that is on or off. What is drawn anew keeps the focus by its key.
  const toggle = (key, className, isOn, onClick, ...children) => {
    const node = button('', className, onClick);
    node.append(...children);
    return setAttributes(node, { 'data-key': key, 'aria-pressed': isOn });
  };
  const keepFocus = (change) => {
    const hadFocus = hasFocus(root), key = hadFocus && focusIn(root).dataset.key;
    change();
    if (key) root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
    // What is hidden keeps the focus until the next frame, and then loses it to the page.
    if (hadFocus && !(hasFocus(root) && focusIn(root).getClientRects().length)) search.focus({ preventScroll: true });
  };
  const chip = ([state, words, kind, mark, number]) => toggle('state ' + state, `chip pk-${kind}`, wanted.state === state,
    () => ask({ state: wanted.state === state ? '' : state, reason: -1 }), `${mark} ${words} `, create('b', {}, count(number)));
  const drawChips = () => {
    const all = toggle('state', 'chip pk-neutral', !wanted.state, () => ask({ state: '', reason: -1 }), 'all ', create('b', {}, count(view.total)));
    chips.replaceChildren(all, ...view.states.map(chip));
  };
  const drawReason = ([number, , words, kind, mark, text, times]) => create('li', {}, toggle('reason ' + number, 'reason', wanted.reason === number,
    () => ask({ reason: wanted.reason === number ? -1 : number }),
    create('b', {}, count(times)), create('span', { class: `tag pk-${kind}` }, `${mark} ${words}`), create('span', {}, text)));
  const drawReasons = () => {
    const number = view.reasons.length + view.more_reasons;
    summary.textContent = wanted.reason < 0 ? `Reasons (${count(number)})` : `Reasons (${count(number)}), one chosen`;
    reasons.replaceChildren(...view.reasons.map(drawReason));
    if (view.more_reasons) reasons.append(create('li', { class: 'help' }, `And ${count(view.more_reasons)} more: search to find them.`));
    details.hidden = !number;
  };
  const drawHead = () => head.replaceChildren(...columns.map(([name, words]) => {
    const isSorted = wanted.sort === name, sorted = wanted.descending ? 'descending' : 'ascending';
    const sort = button(words, 'sort', () => ask({ sort: name, descending: isSorted && !wanted.descending }));
    setAttributes(sort, { 'data-key': 'sort ' + name });
    sort.append(create('span', { 'aria-hidden': true }, isSorted ? (wanted.descending ? ' ▼' : ' ▲') : ''));
    return create('th', { scope: 'col', 'aria-sort': isSorted ? sorted : 'none' }, sort);
  }));
  const drawRow = ([label, [, words, kind, mark], reason, note, cells]) => create('tr', {},
    create('th', { scope: 'row' }, label),
    create('td', {}, create('span', { class: `tag pk-${kind}` }, `${mark} ${words}`)),
    create('td', { class: 'long' }, reason, create('small', {}, note)),
    ...cells.map((text) => create('td', {}, text)));
  const drawPager = () => {
    const end = start + view.rows.length;
    place.textContent = view.found ? `Rows ${count(start + 1)} to ${count(end)} of ${count(view.found)}` : 'No rows';
    setAttributes(previous, { 'aria-disabled': !start });
    setAttributes(next, { 'aria-disabled': end >= view.found });
  };
  const show = (found) => {
    view = found;
    start = view.start;
    isCounted = true;
    [drawChips, drawReasons, drawHead].forEach((part) => part());
    body.replaceChildren(...view.rows.map(drawRow));
    region.scrollTop = 0;
    region.hidden = !view.rows.length;
    drawPager();
    const isAll = view.found === view.total;
    say(isAll ? `${count(view.total)} rows.` : view.found ? `${count(view.found)} of ${count(view.total)} rows found.` : 'Nothing found. Remove a filter, or search for another text.');
    clear.hidden = isAll && !wanted.text;
  };

  const step = (by) => {
    const at = start + by * 50;
    // Until the kernel has counted the rows, it decides which page is the last.
    if (at >= 0 && (!isCounted || at < view.found)) ask({}, at);
  };
  const previous = button('Previous', '', () => step(-1)), next = button('Next', '', () => step(1));
  const clear = button('Show all', '', () => {
    search.value = '';
    search.focus();
    ask(ANY);
  });
  const copy = button('Copy rows', '', () => send({ type: 'copy' }));
  let savedTo = '';
  const save = button('Save as CSV', '', () => {
    savedTo = path.value;
    send({ type: 'save', path: savedTo, replace: !!toReplace });
  });
  const askToReplace = (name) => {
    toReplace = name;
    save.textContent = name ? `Replace ${name}` : 'Save as CSV';
  };
  // Without the permission to write to the clipboard, or on a page without https, the old way still works.
  const toClipboard = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = create('textarea', { 'aria-hidden': true }), focused = focusIn(root) ?? document.activeElement;
      area.value = text;
      root.append(area);
      area.select();
      const isDone = document.execCommand('copy');
      area.remove();
      focused.focus({ preventScroll: true });
      if (!isDone) throw new Error();
    }
  };

  const tools = div('row', create('label', { for: search.id }, 'Search'), search, clear);
  const exports = div('row', copy, create('label', { for: path.id }, 'File'), path, save);
  const pager = create('div', { class: 'row', role: 'group', 'aria-label': 'Pages' }, previous, place, next);
  const root = create('div', { class: 'payerkit rows', role: 'group', 'aria-label': title }, create('h3', {}, title), chips, tools, details, region, pager, exports, status);
  details.open = true;
  clear.hidden = true;

  let typing;
  const find = () => {
    clearTimeout(typing);
    if (search.value.trim() !== wanted.text) ask({ text: search.value.trim(), reason: -1 });
  };
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(find, 250);
  });
  onKey(search, (event) => event.key === 'Enter' && find());
  onKey(path, (event) => event.key === 'Enter' && save.click());
  path.addEventListener('input', () => askToReplace(''));

  const onMessage = async (message) => {
    if (message.page !== id || message.request !== latest[message.type]) return;
    clearTimeout(timer);
    if (message.rows && isPressed) postponed = message;
    else if (message.rows) keepFocus(() => show(message));
    else if (message.error) say(message.error, 'error');
    else if (message.exists) {
      if (path.value !== savedTo) return say(''); // another name was typed meanwhile
      askToReplace(message.exists);
      say(`${message.exists} already exists. Replace it, or enter another name.`, 'warning');
    } else {
      askToReplace('');
      try {
        if (message.text) await toClipboard(message.text);
        say(message.notice, 'success');
      } catch {
        say('The browser does not let this page copy. Save the rows as CSV.', 'error');
      }
    }
  };
  // A button that is replaced between press and release would not be clicked. What the click asks for outdates the reply.
  const press = () => { isPressed = true; };
  const release = () => setTimeout(() => {
    isPressed = false;
    if (postponed) onMessage(postponed);
    postponed = undefined;
  });
  const disposal = new AbortController();
  const listen = (type, handler, capture) => window.addEventListener(type, handler, { capture, signal: disposal.signal });
  listen('pointerdown', press);
  for (const type of ['pointerup', 'pointercancel', 'blur']) listen(type, release);
  listen('keyup', release, true);
  onKey(root, (event) => event.key === ' ' && focusIn(root).matches('button') && press());
  const removeGuard = guardKeys(el);
  model.on('msg:custom', onMessage);
  el.append(root);
  ask();
  return () => {
    clearTimeout(timer);
    clearTimeout(typing);
    disposal.abort();
    removeGuard();
    model.off('msg:custom', onMessage);
  };
};
