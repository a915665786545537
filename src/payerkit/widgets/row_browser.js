// Shows many rows by the page. The rows stay in the kernel: each page is asked for, and what it shows is in no widget
// state. Buttons are made once, so that they keep focus and clicks.
const draw = (widget) => {
  const { title, columns, states, size } = widget.spec, { page } = widget, count = new Intl.NumberFormat('en').format;
  let wanted = { state: '', text: '', sort: 'state', descending: false, start: 0 }, found = 0, typing;
  const channel = openChannel(widget, (message, isOwn) => isOwn && !message.error && show(message)), { say } = channel;
  const ask = (changes) => {
    wanted = { ...wanted, start: 0, ...changes };
    channel.ask({ ...wanted, type: 'page' });
  };
  const newChip = ([state, words, kind, mark]) => {
    const node = button(`${mark} ${words} `.trimStart(), `chip pk-${kind}`, () => ask({ state: wanted.state === state ? '' : state }));
    return { state, node, number: node.appendChild(create('b', {})) };
  };
  const chips = [['', 'all', 'neutral', ''], ...states].map(newChip);
  const newHead = ([name, words]) => {
    const sort = () => ask({ sort: name, descending: wanted.sort === name && !wanted.descending });
    return { name, node: create('th', { scope: 'col' }, button(words, 'sort', sort)) };
  };
  const heads = columns.map(newHead), body = create('tbody', {});
  const table = create('table', {}, create('thead', {}, create('tr', {}, ...heads.map(({ node }) => node))), body);
  const region = create('div', { class: 'region', role: 'group', tabindex: 0, 'aria-label': 'Rows' }, table);
  const step = (by) => {
    const start = wanted.start + by * size;
    if (start >= 0 && start < found) ask({ start });
  };
  const place = create('span', {}), previous = button('Previous', '', () => step(-1)), next = button('Next', '', () => step(1));
  const drawRow = ([label, state, ...cells]) => {
    const [, words, kind, mark] = states[state];
    const chip = create('td', {}, create('span', { class: `pk-chip pk-${kind}` }, `${mark} ${words}`));
    return create('tr', {}, create('th', { scope: 'row' }, label), chip, ...cells.map((text) => create('td', {}, text)));
  };
  const show = ({ rows, start, total, counts, ...reply }) => {
    wanted.start = start;
    found = reply.found;
    chips.forEach(({ state, node, number }, at) => {
      const times = at ? counts[at - 1] : total, isOn = wanted.state === state;
      number.textContent = count(times);
      Object.assign(node, { hidden: !times && !isOn && !hasFocus(node), ariaPressed: isOn });
    });
    for (const { name, node } of heads) node.ariaSort = wanted.sort !== name ? 'none' : wanted.descending ? 'descending' : 'ascending';
    body.replaceChildren(...rows.map(drawRow));
    region.scrollTop = 0;
    place.textContent = found ? `Rows ${count(start + 1)} to ${count(start + rows.length)} of ${count(found)}` : 'No rows';
    previous.ariaDisabled = !start;
    next.ariaDisabled = start + rows.length >= found;
    say(found === total ? `${count(total)} rows.` : found ? `${count(found)} of ${count(total)} rows found.` : 'Nothing found. Choose another state, or search for another text.');
  };
  const find = () => {
    clearTimeout(typing);
    if (search.value.trim() !== wanted.text) ask({ text: search.value.trim() });
  };
  const findSoon = () => {
    clearTimeout(typing);
    typing = setTimeout(find, 250);
  };
  const search = create('input', { id: page, type: 'search', autocomplete: 'off', spellcheck: false, input: findSoon });
  onKey(search, (event) => event.key === 'Enter' && find());
  const group = (label, ...nodes) => create('div', { class: 'row', role: 'group', 'aria-label': label }, ...nodes);
  const filter = group('State', ...chips.map(({ node }) => node)), pager = group('Pages', previous, place, next);
  const tools = div('row', create('label', { for: page }, 'Search'), search);
  const root = create('div', { class: 'payerkit rows', role: 'group', 'aria-label': title }, create('h2', {}, title), filter, tools, region, pager, channel.status);
  mount(widget, root, channel.takeFirst, channel.receive);
};
