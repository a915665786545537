// Maps columns of a file. Values stay in the kernel: the page gets headers, masked values and findings in messages, and
// no widget state has them. Every view of the form draws each new state; a preview goes to the page that asked for it.
const SLOW = 3000; // ms: a preview that takes longer is made only when somebody asks for it
const WAITING = { preview: 'The file is being read and checked …' };

const draw = (widget) => {
  const { status, say, ask, takeFirst, receive } = openChannel(widget, (message, isOwn) => handle(message, isOwn), WAITING);
  const title = widget.model.get('label'), id = widget.page;
  const { groups } = widget.spec;
  let previewing, started = 0, isSlow = false, rows = [], view;

  const body = create('tbody', {}), titles = ['Column of the file', 'Is our column', 'How sure'].map((text) => create('th', { scope: 'col' }, text));
  const table = create('table', {}, create('thead', {}, create('tr', {}, ...titles)), body);
  const region = create('div', { class: 'region', role: 'group', tabindex: 0, 'aria-label': 'Columns' }, table);
  const preview = create('div', { class: 'preview', role: 'group', tabindex: 0, 'aria-label': 'Preview', 'aria-busy': true });
  const note = div('help'), todo = create('span', {}), line = div('line');
  const sendPreview = () => {
    started = performance.now();
    ask({ type: 'preview' });
  };
  // A person who goes through the columns changes several in a row: the file is read once they pause.
  const askPreview = (wait) => {
    preview.ariaBusy = true;
    clearTimeout(previewing);
    refresh.hidden = !isSlow;
    if (!isSlow) previewing = setTimeout(sendPreview, wait);
  };
  const refresh = button('Preview again', '', sendPreview);
  const option = ([value, text]) => create('option', { value }, text);
  const fillSelect = (select, { column, candidates }) => {
    const isOpen = column === null, key = JSON.stringify([isOpen, candidates]);
    if (select.dataset.key !== key) {
      select.dataset.key = key;
      const titles = Object.fromEntries(groups.flatMap(([, names]) => names));
      const section = (label, names) => create('optgroup', { label }, ...names.map(option));
      const likely = candidates.length ? [section('Likely', candidates.map((name) => [name, titles[name] ?? name]))] : [];
      const others = groups.map(([label, names]) => section(label, names.filter(([name]) => !candidates.includes(name))));
      const choose = isOpen ? [create('option', { value: '?', disabled: true }, 'Choose …')] : [];
      select.replaceChildren(...choose, ...likely, option(['', 'Leave it out']), ...others);
    }
    select.value = isOpen ? '?' : column;
  };
  const newRow = (column) => {
    const problem = create('div', { class: 'problem', id: `${id}p${column.place}` }), tag = create('td', {});
    const select = create('select', { 'aria-label': `Our column for ${column.header}, column ${column.letters}`, 'aria-describedby': problem.id });
    select.addEventListener('change', () => ask({ type: 'choose', place: column.place, column: select.value }));
    const examples = create('span', { class: 'examples' }, column.examples.join(', ') || 'no values');
    const head = create('th', { scope: 'row' }, create('span', { class: 'letters' }, column.letters), column.header, examples);
    return { select, problem, tag, node: create('tr', {}, head, create('td', { class: 'field' }, select, problem), tag) };
  };
  const showRow = ({ select, problem, tag, node }, column) => {
    const [kind, words] = column.state, mark = { success: '✓', warning: '!', info: 'i', neutral: '·' }[kind];
    fillSelect(select, column);
    node.className = column.problem ? 'open' : '';
    problem.textContent = column.column === null ? `${column.problem} Proposal: ${column.proposal}.` : column.problem;
    tag.replaceChildren(create('span', { class: `pk-chip pk-${kind}` }, `${mark} ${words}`));
  };

  const check = (name, text) => {
    const box = create('input', { type: 'checkbox', id: id + name, change: () => ask({ type: 'set', name, value: box.checked }) });
    return [box, div('row', box, create('label', { for: box.id }, text))];
  };
  const [normalise, normaliseRow] = check('normalise', 'Rewrite values that have exactly one meaning, such as 31.12.1985 or Germany');
  const [holder, holderRow] = check('holder_is_payer', 'For the preview: each payer holds the account, as with onboard(rows, holder_is_payer=True)');
  const orders = [['', 'as the other dates of the column show'], ['day_first', 'the third of April (day first)'], ['month_first', 'the fourth of March (month first)']];
  const setOrder = () => ask({ type: 'set', name: 'date_order', value: dates.value || null });
  const dates = create('select', { id: id + 'd', change: setOrder }, ...orders.map(option));
  const accept = button('Take all proposals', '', () => ask({ type: 'accept' }));
  const next = button('Go to the first', '', () => rows[view.columns.findIndex((column) => column.problem)]?.select.focus());
  const sayTodo = () => say(view.todo, view.line ? 'success' : 'warning');
  const show = (state) => {
    view = state;
    if (rows.length !== state.columns.length) {
      rows = state.columns.map(newRow);
      body.replaceChildren(...rows.map((row) => row.node));
    }
    state.columns.forEach((column, place) => showRow(rows[place], column));
    normalise.checked = state.normalise;
    dates.value = state.date_order;
    holder.checked = !!state.holder_is_payer;
    holderRow.hidden = state.holder_is_payer === null;
    if (!state.can_accept && hasFocus(accept)) preview.focus();
    accept.hidden = !state.can_accept;
    next.hidden = !!state.line;
    Object.assign(todo, { textContent: state.todo, className: state.line ? 'success' : 'warning' });
    line.hidden = !state.line;
    if (line.dataset.text !== state.line) {
      line.dataset.text = state.line;
      line.replaceChildren('Run in the next cell, with this form in the variable form:', create('code', {}, state.line),
        drawCopyButton('Copy', state.line, 'the line', 'line'));
    }
    sayTodo();
  };
  const showPreview = (message) => {
    preview.innerHTML = message.html;
    note.textContent = message.note;
    preview.ariaBusy = false;
    isSlow = performance.now() - started > SLOW;
    refresh.hidden = true;
    if (status.textContent === WAITING.preview) sayTodo();
  };
  const handle = (message, isOwn) => {
    if (message.error) isOwn && view && setAttributes(preview, { 'aria-busy': false });
    else if (message.type === 'preview') isOwn && showPreview(message);
    else if (view || !message.type) {
      show(message);
      askPreview(message.type ? 600 : 0);
    }
  };
  line.hidden = refresh.hidden = true;
  const root = create('div', { class: 'payerkit rows mapping', role: 'group', 'aria-label': title },
    create('h2', {}, title),
    div('help', 'Letters and digits of values that may be personal are shown as X, x and 0. Nothing of this is saved with the notebook.'),
    div('row', todo, next, accept), region, normaliseRow, div('row', create('label', { for: dates.id }, '03/04/1985 is'), dates), holderRow,
    create('h3', {}, 'Preview'), div('row', refresh), note, preview, line, status);
  mount(widget, root, takeFirst, receive);
};
