// Shows many rows by the page. The rows stay in the kernel: each page is asked for, and what it shows is in no widget
// state. Only the reply to the latest request counts. Buttons are made once, so that they keep focus and clicks.
const draw = ({ model, el }) => {
  const { title, columns, states, size } = model.get('spec');
  const id = 'r' + Math.random().toString(36).slice(2), count = new Intl.NumberFormat('en').format;
  let wanted = { state: '', text: '', sort: 'state', descending: false, start: 0 }, request = 0, found = 0, isCounted = false, timer, typing;

  const status = setAttributes(div('status'), { role: 'status' });
  const say = (text, kind = '') => {
    status.className = 'status ' + kind;
    status.textContent = text;
  };
  const ask = (changes) => {
    isCounted &&= 'start' in changes;
    wanted = { ...wanted, start: 0, ...changes };
    clearTimeout(timer);
    timer = setTimeout(() => say('The kernel has not replied yet. It may be busy with another cell.'), 2000);
    try {
      model.send({ ...wanted, type: 'page', page: id, request: ++request });
    } catch {
      clearTimeout(timer);
      say('The kernel was restarted. Run the cell again.', 'error');
    }
  };

  const newChip = ([state, words, kind, mark]) => {
    const node = button(`${mark} ${words} `.trimStart(), `chip pk-${kind}`, () => ask({ state: wanted.state === state ? '' : state }));
    const number = node.appendChild(create('b', {}));
    return { state, node, number };
  };
  const chips = [['', 'all', 'neutral', ''], ...states].map(newChip);
  const search = create('input', { id, type: 'search', autocomplete: 'off', spellcheck: false });
  const newHead = ([name, words]) => {
    const node = create('th', { scope: 'col' }, button(words, 'sort', () => ask({ sort: name, descending: wanted.sort === name && !wanted.descending })));
    return { name, node };
  };
  const heads = columns.map(newHead), body = create('tbody', {});
  const table = create('table', {}, create('thead', {}, create('tr', {}, ...heads.map(({ node }) => node))), body);
  const region = create('div', { class: 'region', role: 'group', tabindex: 0, 'aria-label': 'Rows' }, table);
  const step = (by) => {
    const start = wanted.start + by * size;
    // Until the kernel has counted the rows, it decides which page is the last.
    if (start >= 0 && (!isCounted || start < found)) ask({ start });
  };
  const place = create('span', {}), previous = button('Previous', '', () => step(-1)), next = button('Next', '', () => step(1));

  const drawRow = ([label, state, ...cells]) => {
    const [, words, kind, mark] = states[state];
    const tag = create('td', {}, create('span', { class: `tag pk-${kind}` }, `${mark} ${words}`));
    return create('tr', {}, create('th', { scope: 'row' }, label), tag, ...cells.map((text) => create('td', {}, text)));
  };
  const show = ({ rows, start, total, counts, ...reply }) => {
    wanted.start = start;
    found = reply.found;
    isCounted = true;
    for (const [number, chip] of chips.entries()) {
      const times = number ? counts[number - 1] : total, isOn = wanted.state === chip.state;
      chip.number.textContent = count(times);
      chip.node.hidden = !times && !isOn && !hasFocus(chip.node);
      setAttributes(chip.node, { 'aria-pressed': isOn });
    }
    for (const { name, node } of heads) setAttributes(node, { 'aria-sort': wanted.sort !== name ? 'none' : wanted.descending ? 'descending' : 'ascending' });
    body.replaceChildren(...rows.map(drawRow));
    region.scrollTop = 0;
    place.textContent = found ? `Rows ${count(start + 1)} to ${count(start + rows.length)} of ${count(found)}` : 'No rows';
    setAttributes(previous, { 'aria-disabled': !start });
    setAttributes(next, { 'aria-disabled': start + rows.length >= found });
    say(found === total ? `${count(total)} rows.` : found ? `${count(found)} of ${count(total)} rows found.` : 'Nothing found. Choose another state, or search for another text.');
  };
  const onMessage = (message) => {
    if (message.page !== id || message.request !== request) return;
    clearTimeout(timer);
    if (message.error) say(message.error, 'error');
    else show(message);
  };

  const find = () => {
    clearTimeout(typing);
    if (search.value.trim() !== wanted.text) ask({ text: search.value.trim() });
  };
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(find, 250);
  });
  onKey(search, (event) => event.key === 'Enter' && find());
  const filter = create('div', { class: 'chips', role: 'group', 'aria-label': 'State' }, ...chips.map(({ node }) => node));
  const pager = create('div', { class: 'row', role: 'group', 'aria-label': 'Pages' }, previous, place, next);
  const tools = div('row', create('label', { for: id }, 'Search'), search);
  const root = create('div', { class: 'payerkit rows', role: 'group', 'aria-label': title }, create('h3', {}, title), filter, tools, region, pager, status);
  const removeGuard = guardKeys(el);
  model.on('msg:custom', onMessage);
  el.append(root);
  ask({});
  return () => {
    clearTimeout(timer);
    clearTimeout(typing);
    removeGuard();
    model.off('msg:custom', onMessage);
  };
};
