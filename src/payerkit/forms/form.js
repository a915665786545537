// Draws one form as Python describes it, and tells Python what is typed. No value is ever part of the model's state:
// JupyterLab would save it. Values travel in custom messages, and a secret leaves this page for the kernel at once.

const set = (node, attributes) => {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  return node;
};
const make = (tag, attributes, ...inside) => {
  const node = set(document.createElement(tag), attributes);
  node.append(...inside);
  return node;
};
const div = (kind, ...inside) => make('div', { class: kind }, ...inside);

function render({ model, el }) {
  const { title, verb, sections, rule, extra, needs } = model.get('spec');
  const me = 'f' + Math.random().toString(36).slice(2);
  const fields = {}, undo = [];
  let turn, phase = 'open', all, pressed, clock, timer, left = {}, later = [];
  const on = (node, type, act) => {
    node.addEventListener(type, act);
    undo.push(() => node.removeEventListener(type, act));
  };
  const button = (text, kind, act) => {
    const node = make('button', { type: kind === 'go' ? 'submit' : 'button', class: 'button ' + kind }, text);
    if (act) on(node, 'click', act);
    return node;
  };

  // What was left is told at once, or together with the submission that left it.
  const send = (told) => {
    clearTimeout(timer);
    model.send({ ...told, left, by: me });
    left = {};
  };
  const leave = (name, value) => {
    left[name] = value;
    if (!pressed) timer = setTimeout(() => send({ do: 'leave' }));
  };

  const draw = ([name, label, kind, required, help, example, options]) => {
    const id = me + name, secret = kind === 'secret';
    const input = make(options ? 'select' : 'input', { id, name, autocomplete: 'off', spellcheck: false, 'aria-describedby': `${id}h ${id}n` });
    if (options) input.append(...[[required ? 'Choose…' : 'Not given', ''], ...options.map((one) => [one, one])].map((one) => new Option(...one)));
    if (required) set(input, { 'aria-required': true });
    if (secret) input.type = 'password';
    const field = fields[name] = { label, input, notes: set(div('notes'), { id: id + 'n', 'aria-live': 'polite' }) };
    field.box = div('field', make('label', { for: id, class: required ? 'required' : '' }, label), div('input', input), make('div', { id: id + 'h', class: 'help' }, help), field.notes);
    field.explain = (text) => { field.box.children[2].textContent = text || help; };
    field.hold = (held) => {
      field.held = secret && held;
      input.placeholder = field.held ? 'held, not shown' : example && 'e.g. ' + example;
      field.box.classList.toggle('held', field.held);
    };
    const take = () => {
      const { value } = input;
      field.left = true;
      leave(name, secret && !value ? null : value);
      if (secret && value) { input.value = ''; field.hold(true); }
    };
    on(input, 'change', take);
    on(input, 'blur', () => field.left || take());
    if (rule.includes(name)) on(input, 'input', arrange);
    // A secret that was taken is never shown again: that it is held stands in its place, and a button drops it.
    if (secret) input.after(set(button('×', 'drop', () => { field.hold(false); leave(name, ''); input.focus(); }), { 'aria-label': 'Clear ' + label }));
    if (kind === 'lookup') lookUp(name, field, id + 'l');
    field.hold(false);
    return field.box;
  };

  // What is typed into a combobox is looked up in the kernel.
  const lookUp = (name, field, id) => {
    const { input, label } = field, list = make('ul', { id, role: 'listbox', 'aria-label': label + ': choices' });
    let at, wait;
    set(input, { role: 'combobox', 'aria-controls': id, 'aria-autocomplete': 'list' }).after(list);
    const ask = () => send({ do: 'find', name, text: input.value });
    const choose = (row) => {
      input.value = row.dataset.code;
      field.found([]);
      arrange();
      input.dispatchEvent(new Event('change'));
    };
    field.found = (options) => {
      clearTimeout(wait);
      at = -1;
      list.replaceChildren(...options.map(([code, text], i) => make('li', { id: id + i, role: 'option', 'data-code': code, 'aria-selected': false }, make('b', {}, code), ' ' + text)));
      list.hidden = !options.length;
      set(input, { 'aria-expanded': !list.hidden, 'aria-activedescendant': '' });
    };
    field.found([]);
    on(list, 'mousedown', (event) => event.preventDefault());
    on(list, 'click', (event) => { const row = event.target.closest('li'); if (row) choose(row); });
    on(input, 'input', () => { clearTimeout(wait); wait = setTimeout(ask, 80); });
    on(input, 'blur', () => field.found([]));
    on(input, 'keydown', (event) => {
      const rows = list.children, step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === 'Escape') field.found([]);
      if (step || (event.key === 'Enter' && at >= 0)) event.preventDefault();
      if (step && list.hidden) ask();
      else if (step) {
        at = at < 0 && step < 0 ? rows.length - 1 : (at + step + rows.length) % rows.length;
        [...rows].forEach((row, i) => set(row, { 'aria-selected': i === at }));
        rows[at].scrollIntoView({ block: 'nearest' });
        set(input, { 'aria-activedescendant': id + at });
      } else if (event.key === 'Enter' && at >= 0) choose(rows[at]);
    });
  };

  // Shown is what is required, what the currency needs by its rails, and whatever holds a value.
  const arrange = () => {
    if (!rule.length) return;
    const [code, by] = rule.map((name) => fields[name].input.value.trim());
    const key = code.toUpperCase(), rails = by || 'local', groups = (needs[key + ' ' + rails] ?? needs[key])?.split(' ').map((group) => group.split('|'));
    const needed = groups ? groups.flat() : [], known = groups || key.length < 3;
    let hidden = 0;
    for (const name in fields) {
      const { box, input, held } = fields[name], may = extra.includes(name) && known && !needed.includes(name);
      box.classList.toggle('needed', needed.includes(name));
      box.hidden = may && !all && !held && !input.value;
      hidden += may;
    }
    advice.textContent = groups ? `${key} by ${rails} rails usually needs: ${groups.map((group) => group.map((name) => fields[name].label).join(' or ')).join(', ')}.`
      : known ? 'Choose the currency to see what it needs.' : `What ${key} needs by ${rails} rails is not published.`;
    more.textContent = all ? 'Fewer fields' : `More fields (${hidden})`;
    more.hidden = !hidden;
    set(more, { 'aria-expanded': !!all });
  };

  const about = make('span', { class: 'help' }), waits = div('help'), advice = div('help'), actions = div('row');
  const top = div('status'), panel = set(div('panel'), { tabindex: -1 });
  const more = button('', '', () => { all = !all; arrange(); });
  const body = div('', ...sections.map(([name, drawn]) => make('fieldset', {}, make('legend', {}, name), div('grid', ...drawn.map(draw)))));
  const go = button(verb, 'go'), anyway = button('', '', () => submit(true)), foot = div('row', go, anyway);
  const status = set(div('status'), { role: 'status' }), seconds = make('span', { class: 'help', 'aria-hidden': true });
  const form = make('form', { class: 'payerkit', novalidate: true, 'aria-label': title },
    div('title', make('b', {}, title), ' ', about), waits, top, panel, actions, body, foot, div('row', status, seconds));
  if (rule.length) {
    body.querySelector('.grid').before(advice);
    body.append(more);
  }

  // While the kernel works: say so, count the seconds, and take no second click.
  const work = (text, told) => {
    if (form.ariaBusy) return;
    const since = Date.now();
    form.ariaBusy = true;
    status.className = 'status';
    status.textContent = text;
    clock = setInterval(() => {
      const passed = Math.round((Date.now() - since) / 1000);
      seconds.textContent = `${passed} s` + (passed < 10 ? '' : ': a call ends after 60 s at the latest. If the kernel was restarted, run the cell again.');
    }, 1000);
    send({ ...told, turn });
  };
  const submit = (sure) => work('Sending…', { do: 'submit', anyway: sure });

  const note = ({ input, notes, box }, found) => {
    const wrong = found.some(([severity]) => severity === 'error');
    notes.replaceChildren(...found.map(([severity, text, basis]) => div(severity, text, ' ', make('small', {}, basis))));
    set(input, { 'aria-invalid': wrong });
    box.classList.toggle('wrong', wrong);
    if (found.length) box.hidden = false;
  };
  const view = (told) => {
    const mine = told.by === me;
    if ('turn' in told) {
      turn = told.turn;
      clearInterval(clock);
      form.ariaBusy = null;
      seconds.textContent = '';
      about.textContent = told.about;
      panel.innerHTML = told.panel; // escaped in the kernel
      actions.replaceChildren(
        ...told.links.map(([href, text]) => make('a', { class: 'button go', href, target: '_blank', rel: 'noopener noreferrer' }, text)),
        ...told.actions.map(([what, text]) => button(text, '', () => work('Asking…', { do: 'act', what }))));
      phase = told.phase;
      for (const node of [status, top]) [node.className, node.textContent] = ['status ' + told.status[0], told.status[1]];
      if (phase === 'done') top.textContent = '';
    }
    phase = told.phase ?? phase;
    for (const name in told.values) {
      const { input, explain } = fields[name];
      if (mine || !told.by || !input.matches(':focus')) input.value = told.values[name];
      explain(told.names[name]);
    }
    if (told.held) for (const name in fields) fields[name].hold(told.held.includes(name));
    arrange();
    if (told.notes) for (const name in fields) note(fields[name], told.notes[name] || []);
    waits.textContent = model.get('waits_for');
    body.hidden = foot.hidden = phase === 'done' || waits.textContent;
    top.hidden = !top.textContent;
    anyway.hidden = phase === 'open';
    anyway.textContent = phase === 'doubt' ? 'Send anyway' : 'Send again';
    go.hidden = phase === 'unknown';
    if (mine && told.focus) (fields[told.focus]?.input ?? panel).focus();
  };

  // A note that appears while a button is held down would move the button away from under the pointer.
  const hear = (told) => {
    if (told.found) { if (told.by === me && fields[told.name].input.matches(':focus')) fields[told.name].found(told.found); }
    else if (pressed) later.push(told);
    else view(told);
  };
  on(form, 'pointerdown', () => { pressed = true; });
  for (const type of ['pointerup', 'pointercancel']) on(window, type, () => setTimeout(() => {
    pressed = false;
    if (Object.keys(left).length) send({ do: 'leave' });
    later.splice(0).forEach(view);
  }));
  on(form, 'submit', (event) => { event.preventDefault(); if (phase !== 'unknown') submit(false); });
  // Keys inside a form are the form's: JupyterLab would insert or delete cells. Its commands with Ctrl or Cmd pass, but
  // for those that edit text, and Enter.
  on(el, 'keydown', (event) => {
    const command = event.ctrlKey || event.metaKey;
    if (!command || 'acvxyz'.includes(event.key.toLowerCase()) || event.key === 'Enter') event.stopPropagation();
    if (command && event.key === 'Enter' && phase !== 'done') form.requestSubmit();
  });
  const wake = () => view({});
  model.on('msg:custom', hear);
  model.on('change:waits_for', wake);
  el.append(form);
  wake();
  send({ do: 'ready' });
  return () => {
    clearInterval(clock);
    undo.forEach((act) => act());
    model.off('msg:custom', hear);
    model.off('change:waits_for', wake);
  };
}

export default { render };
