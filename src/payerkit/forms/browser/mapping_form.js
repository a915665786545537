// Maps columns of a file. Values stay in the kernel: the page gets headers, masked values and findings in messages, and
// no widget state has them. Every view of the form draws each new state; a preview goes to the page that asked for it.
const SLOW = 3000; // ms: a preview that takes longer is made only when somebody asks for it
const WAITING = { preview: 'The file is being read and checked …' };

const draw = ({ model, el }) => {
  const id = 'm' + Math.random().toString(36).slice(2), latest = {};
  let request = 0, timer, previewing, started = 0, isSlow = false, groups = [], rows = [], view;

  const status = setAttributes(div('status'), { role: 'status' });
  const body = create('tbody', {});
  const titles = ['Column of the file', 'Is our column', 'How sure'].map((text) => create('th', { scope: 'col' }, text));
  const table = create('table', {}, create('thead', {}, create('tr', {}, ...titles)), body);
  const region = create('div', { class: 'region', role: 'group', tabindex: 0, 'aria-label': 'Columns' }, table);
  const preview = create('div', { class: 'preview', role: 'group', tabindex: 0, 'aria-label': 'Preview', 'aria-busy': true });
  const note = div('help'), todo = create('span', {}), line = div('line'), code = create('code', {});

  const say = (text, kind = '') => {
    status.className = 'status ' + kind;
    status.textContent = text;
  };
  const send = (message) => {
    clearTimeout(timer);
    timer = setTimeout(() => say(WAITING[message.type] ?? 'The kernel has not replied yet. It may be busy with another cell.'), 2000);
    try {
      latest[message.type] = ++request;
      model.send({ ...message, page: id, request });
    } catch {
      clearTimeout(timer);
      say('The kernel was restarted. Run the cell again.', 'error');
    }
  };
  // A person who goes through the columns changes several in a row: the file is read once they pause.
  const askPreview = (wait = 600) => {
    preview.setAttribute('aria-busy', true);
    clearTimeout(previewing);
    refresh.hidden = !isSlow;
    if (!isSlow) previewing = setTimeout(sendPreview, wait);
  };
  const sendPreview = () => {
    started = performance.now();
    send({ type: 'preview' });
  };
  const refresh = button('Preview again', '', sendPreview);
  refresh.hidden = true;

  const option = (value, text) => Object.assign(create('option', {}, text), { value });
  const titleOf = (name) => groups.flatMap(([, names]) => names).find(([each]) => each === name)?.[1] ?? name;
  const fillSelect = (select, { column, candidates }) => {
    const isOpen = column === null;
    const key = JSON.stringify([isOpen, candidates]);
    if (select.dataset.key !== key) {
      const choose = isOpen ? [Object.assign(option('?', 'Choose …'), { disabled: true })] : [];
      const likely = candidates.length ? [create('optgroup', { label: 'Likely' }, ...candidates.map((name) => option(name, titleOf(name))))] : [];
      const others = groups.map(([label, names]) => create('optgroup', { label },
        ...names.filter(([name]) => !candidates.includes(name)).map(([name, text]) => option(name, text))));
      select.replaceChildren(...choose, ...likely, option('', 'Leave it out'), ...others);
      select.dataset.key = key;
    }
    select.value = isOpen ? '?' : column;
  };
  const newRow = (column) => {
    const select = create('select', { 'aria-label': `Our column for ${column.header}, column ${column.letters}` });
    select.addEventListener('change', () => send({ type: 'choose', place: column.place, column: select.value }));
    const examples = create('span', { class: 'examples' }, column.examples.join(', ') || 'no values');
    const head = create('th', { scope: 'row' }, create('span', { class: 'letters' }, column.letters), column.header, examples);
    const problem = create('div', { class: 'problem', id: `${id}p${column.place}` }), tag = create('td', {});
    select.setAttribute('aria-describedby', problem.id);
    return { select, problem, tag, node: create('tr', {}, head, create('td', { class: 'field' }, select, problem), tag) };
  };
  const showRow = ({ select, problem, tag, node }, column) => {
    const [kind, words] = column.state, mark = { success: '✓', warning: '!', info: 'i', neutral: '·' }[kind];
    fillSelect(select, column);
    node.className = column.problem ? 'open' : '';
    problem.textContent = column.column === null ? `${column.problem} Proposal: ${column.proposal}.` : column.problem;
    tag.replaceChildren(create('span', { class: `tag pk-${kind}` }, `${mark} ${words}`));
  };

  const check = (name, text) => {
    const box = create('input', { type: 'checkbox', id: id + name });
    box.addEventListener('change', () => send({ type: 'set', name, value: box.checked }));
    return [box, div('row', box, create('label', { for: box.id }, text))];
  };
  const [normalise, normaliseRow] = check('normalise', 'Rewrite values that have exactly one meaning, such as 31.12.1985 or Germany');
  const [holder, holderRow] = check('holder_is_payer', 'For the preview: each payer holds the account, as with onboard(rows, holder_is_payer=True)');
  const dates = create('select', { id: id + 'd' }, option('', 'as the other dates of the column show'),
    option('day_first', 'the third of April (day first)'), option('month_first', 'the fourth of March (month first)'));
  dates.addEventListener('change', () => send({ type: 'set', name: 'date_order', value: dates.value || null }));

  const accept = button('Take all proposals', '', () => {
    send({ type: 'accept' });
  });
  const goToOpen = () => rows[view.columns.findIndex((column) => column.problem)]?.select.focus();
  const next = button('Go to the first', '', goToOpen);
  const use = button('Use this mapping', 'use', () => send({ type: 'use' }));
  const copy = button('Copy', '', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      say('Copied.', 'success');
    } catch {
      say('The browser does not let this page copy. Select the line, and copy it.', 'error');
    }
  });
  line.append('Run in the next cell:', code, copy);
  line.hidden = true;

  const show = (state) => {
    view = state;
    if (state.groups) groups = state.groups;
    if (rows.length !== state.columns.length) {
      rows = state.columns.map(newRow);
      body.replaceChildren(...rows.map((row) => row.node));
    }
    state.columns.forEach((column, place) => showRow(rows[place], column));
    normalise.checked = state.normalise;
    dates.value = state.date_order;
    holder.checked = !!state.holder_is_payer;
    holderRow.hidden = state.holder_is_payer === null;
    setAttributes(use, { 'aria-disabled': !state.is_decided });
    if (!state.can_accept && hasFocus(accept)) use.focus();
    accept.hidden = !state.can_accept;
    next.hidden = state.is_decided;
    todo.textContent = state.todo;
    todo.className = state.is_decided ? 'done' : 'todo';
    if (!state.is_decided) line.hidden = true;
    say(state.todo, state.is_decided ? 'success' : 'warning');
  };
  const showUse = (text) => {
    line.hidden = !text;
    code.textContent = text;
    if (text) say('Ready. The line expects this form in a variable: form = MappingForm(…).', 'success');
    else goToOpen();
  };
  const showPreview = (message) => {
    preview.innerHTML = message.html;
    note.textContent = message.note;
    preview.setAttribute('aria-busy', false);
    isSlow = performance.now() - started > SLOW;
    refresh.hidden = true;
    if (status.textContent === WAITING.preview) say(view.todo, view.is_decided ? 'success' : 'warning');
  };

  const onMessage = (message) => {
    const isOwn = message.page === id && message.request === latest[message.type];
    if (isOwn) clearTimeout(timer);
    if (message.error) {
      if (isOwn) say(message.error, 'error');
      if (isOwn && view) preview.setAttribute('aria-busy', false);
    } else if (message.type === 'preview') {
      if (isOwn) showPreview(message);
    } else if (groups.length || message.groups) {
      show(message);
      if (message.type === 'use') isOwn && showUse(message.line);
      else if (isOwn || message.type !== 'state') askPreview(message.type === 'state' ? 0 : 600);
    }
  };

  const root = create('div', { class: 'payerkit rows mapping', role: 'group', 'aria-label': model.get('label') },
    create('h3', {}, model.get('label')),
    div('help', 'Letters and digits of values that may be personal are shown as X, x and 0. Nothing of this is saved with the notebook.'),
    div('row', todo, next, accept), region, normaliseRow, div('row', create('label', { for: dates.id }, '03/04/1985 is'), dates), holderRow,
    create('h4', {}, 'Preview'), div('row', refresh), note, preview, div('row', use), line, status);
  const removeGuard = guardKeys(el);
  model.on('msg:custom', onMessage);
  el.append(root);
  send({ type: 'state' });
  return () => {
    clearTimeout(timer);
    clearTimeout(previewing);
    removeGuard();
    model.off('msg:custom', onMessage);
  };
};
