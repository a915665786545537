// Draws one form as Python describes it, and tells Python what is typed. No value is ever part of the model's state:
// JupyterLab would save it. Values travel in custom messages, and a secret leaves the page when its field is left.

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
const hasFocus = (node) => node.contains(document.activeElement);

// A list under an input, of what `ask` found for what is typed; only the answer to the last question counts.
function combobox(input, label, on, ask, change) {
  const list = make('ul', { id: input.id + 'l', role: 'listbox', 'aria-label': label + ': choices' });
  let at, timer, asked = 0;
  set(input, { role: 'combobox', 'aria-controls': list.id, 'aria-autocomplete': 'list', 'aria-expanded': false }).after(list);
  const show = (options) => {
    at = -1;
    list.replaceChildren(...options.map(([code, text], i) =>
      make('li', { id: list.id + i, role: 'option', 'data-code': code, 'aria-selected': false }, make('b', {}, code), ' ' + text)));
    list.hidden = !options.length;
    set(input, { 'aria-expanded': !list.hidden, 'aria-activedescendant': '' });
    // Outputs clip what they hold; a popover is above all of them.
    const { left, bottom, width } = input.getBoundingClientRect();
    list.style.cssText = `left:${left}px;top:${bottom + 2}px;width:${width}px`;
    list.togglePopover?.(!list.hidden);
  };
  const close = () => {
    clearTimeout(timer);
    asked++;
    show([]);
  };
  const question = () => {
    clearTimeout(timer);
    ask(input.value, ++asked);
  };
  const choose = (row) => {
    input.value = row.dataset.code;
    close();
    change();
  };
  const select = (step) => {
    const rows = [...list.children];
    at = at < 0 && step < 0 ? rows.length - 1 : (at + step + rows.length) % rows.length;
    rows.forEach((row, i) => set(row, { 'aria-selected': i === at }));
    rows[at].scrollIntoView({ block: 'nearest' });
    set(input, { 'aria-activedescendant': list.id + at });
  };
  list.popover = 'manual';
  on(list, 'mousedown', (event) => event.preventDefault());
  on(list, 'click', (event) => event.target.closest('li') && choose(event.target.closest('li')));
  on(input, 'click', () => list.hidden && question());
  on(input, 'input', () => {
    clearTimeout(timer);
    timer = setTimeout(question, 80);
  });
  on(input, 'blur', close);
  on(input, 'keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], isChosen = event.key === 'Enter' && at >= 0;
    if (step || isChosen) event.preventDefault();
    if (step && list.hidden) question();
    else if (step) select(step);
    else if (isChosen) choose(list.children[at]);
    else if (event.key === 'Escape' || event.key === 'Enter') close();
  });
  on(window, 'scroll', (event) => list.hidden || event.target === list || close(), true);
  list.hidden = true;
  return (options, number) => number === asked && hasFocus(input) && show(options);
}

function render({ model, el }) {
  const { title, verb, sections, rule, extra, needs, limit } = model.get('spec');
  const me = 'f' + Math.random().toString(36).slice(2);
  const fields = {}, undo = [];
  // turn: of Python; what is pressed before something else happened is not done twice. unsent: values of fields left.
  let turn, phase = 'open', all, pressed, clock, timer, unsent = {}, later = [];
  const on = (node, type, act, ...how) => {
    node.addEventListener(type, act, ...how);
    undo.push(() => node.removeEventListener(type, act, ...how));
  };
  const button = (text, kind, act) => {
    const node = make('button', { type: kind === 'go' ? 'submit' : 'button', class: 'button ' + kind }, text);
    if (act) node.addEventListener('click', act);
    return node;
  };

  // What was left is told at once, or together with the submission that left it.
  const send = (message) => {
    clearTimeout(timer);
    try {
      model.send({ ...message, left: unsent, by: me });
      unsent = {};
    } catch {
      rest();
      say(['error', 'The kernel was restarted, and what was typed is gone. Run the cell again.']);
    }
  };
  const leave = (name, value) => {
    unsent[name] = value;
    if (!pressed) timer = setTimeout(() => send({ do: 'leave' }));
  };

  const draw = ([name, label, kind, required, help, example, options]) => {
    const id = me + name, secret = kind === 'secret';
    const input = make(options ? 'select' : 'input', { id, name, autocomplete: secret ? 'new-password' : 'off', spellcheck: false, 'aria-describedby': `${id}h ${id}n` });
    const choices = [[required ? 'Choose…' : 'Not given', ''], ...(options || []).map((one) => [one, one])];
    if (options) input.append(...choices.map((one) => new Option(...one)));
    else input.type = secret ? 'password' : 'text';
    if (required) set(input, { 'aria-required': true });
    const about = set(div('help', help), { id: id + 'h' }), notes = set(div('notes'), { id: id + 'n' });
    const box = div('field', make('label', { for: id, class: required ? 'required' : '' }, label), div('input', input), about, notes);
    const field = fields[name] = { label, input, notes, box };
    field.explain = (text) => { about.textContent = text || help; };
    field.hold = (held) => {
      field.held = secret && held;
      input.placeholder = field.held ? 'kept, not shown' : example && 'e.g. ' + example;
      box.classList.toggle('held', field.held);
    };
    const take = () => {
      const { value } = input;
      field.passed = true;
      field.typing = false;
      leave(name, secret && !value ? null : value);
      if (secret && value) {
        input.value = '';
        field.hold(true);
      }
    };
    field.take = () => field.typing && take();
    on(input, 'input', () => {
      field.typing = true;
      if (rule.includes(name)) arrange();
    });
    on(input, 'change', take);
    on(input, 'blur', () => field.passed || take());
    // A secret that was taken is never shown again: that it is kept stands in its place, and a button drops it.
    const drop = () => {
      field.hold(false);
      leave(name, '');
      input.focus();
    };
    if (secret) input.after(set(button('×', 'drop', drop), { 'aria-label': 'Clear ' + label }));
    if (kind === 'lookup') field.found = combobox(input, label, on, (text, asked) => send({ do: 'find', name, text, asked }), () => {
      arrange();
      take();
    });
    field.hold(false);
    return box;
  };

  // Shown is what is required, what the currency needs by its rails, and whatever holds a value, an error or the focus.
  const arrange = () => {
    if (!rule.length) return;
    const [code, by] = rule.map((name) => fields[name].input.value.trim());
    const key = code.toUpperCase(), rails = by || 'local', groups = (needs[key + ' ' + rails] ?? needs[key])?.split(' ').map((group) => group.split('|'));
    const needed = groups ? groups.flat() : [], known = groups || key.length < 3;
    let hidden = 0;
    for (const name in fields) {
      const { box, input, held } = fields[name], may = extra.includes(name) && known && !needed.includes(name);
      box.classList.toggle('needed', needed.includes(name));
      box.hidden = may && !all && !held && !input.value && !box.classList.contains('wrong') && !hasFocus(box);
      hidden += may;
    }
    const named = groups?.map((group) => group.map((name) => fields[name].label).join(' or ')).join(', ');
    advice.textContent = groups ? `${key} by ${rails} rails usually needs: ${named}.`
      : known ? 'Choose the currency to see what it needs.' : `What ${key} needs by ${rails} rails is not published.`;
    more.textContent = all ? 'Fewer fields' : `More fields (${hidden})`;
    more.hidden = !hidden;
    set(more, { 'aria-expanded': !!all });
  };

  const about = make('span', { class: 'help' }), waits = div('help'), advice = div('help'), actions = div('row');
  const top = div('status'), panel = set(div('panel'), { tabindex: -1 });
  const more = button('', '', () => {
    all = !all;
    arrange();
  });
  const body = div('', ...sections.map(([name, drawn]) => make('fieldset', {}, make('legend', {}, name), div('grid', ...drawn.map(draw)))));
  const go = button(verb, 'go'), anyway = button('Send anyway', '', () => submit(true));
  const foot = div('row', go, anyway, make('span', { class: 'help' }, '* required'));
  const status = set(div('status'), { role: 'status' }), seconds = make('span', { class: 'help', 'aria-hidden': true });
  const form = make('form', { class: 'payerkit', novalidate: true, 'aria-label': title },
    div('title', make('b', {}, title), ' ', about), waits, top, panel, actions, body, foot, div('row line', status, seconds));
  if (rule.length) {
    body.querySelector('.grid').before(advice);
    body.append(more);
  }

  // How it is stands at the button, and above a long form as well, where the first field at fault has the focus.
  const say = ([kind, words]) => {
    status.className = top.className = 'status ' + kind;
    status.textContent = words;
    top.textContent = phase === 'done' || body.querySelectorAll('.field').length < 9 ? '' : words;
    top.hidden = !top.textContent;
  };

  // While the kernel works: say so, count the seconds, and take no second click.
  const rest = () => {
    clearInterval(clock);
    form.ariaBusy = null;
    seconds.textContent = '';
  };
  const work = (text, message) => {
    if (form.ariaBusy || turn === undefined) return;
    const since = Date.now();
    form.ariaBusy = true;
    say(['', text]);
    clock = setInterval(() => {
      const passed = Math.round((Date.now() - since) / 1000);
      seconds.textContent = passed + ' s';
      if (passed === 10) say(['', `${text} A call ends after ${limit} s at the latest.`]);
    }, 1000);
    send({ ...message, turn });
  };
  const submit = (sure) => work('Sending…', { do: 'submit', anyway: sure });

  const note = ({ input, notes, box }, found) => {
    const has = (kind) => found.some(([severity]) => severity === kind);
    const told = JSON.stringify(found);
    if (notes.dataset.told === told) return;
    notes.dataset.told = told;
    notes.replaceChildren(...found.map(([severity, text, basis]) => div(severity, text, ' ', make('small', {}, basis))));
    set(input, { 'aria-invalid': has('error') });
    box.classList.toggle('wrong', has('error'));
    box.classList.toggle('doubtful', has('warning'));
  };
  const view = (told) => {
    const mine = told.by === me, was = document.activeElement;
    if ('turn' in told) {
      turn = told.turn;
      rest();
    }
    phase = told.phase ?? phase;
    for (const name in told.values) {
      const field = fields[name];
      // What is being typed is newer, unless Python filled it in.
      if (!told.by || !field.typing) field.input.value = told.values[name];
      field.typing &&= !!told.by;
      field.explain(told.names[name]);
    }
    if (told.held) for (const name in fields) fields[name].hold(told.held.includes(name));
    if (told.notes) for (const name in fields) note(fields[name], told.notes[name] || []);
    arrange();
    if (told.buttons) {
      about.textContent = told.about;
      if (panel.innerHTML !== told.panel) panel.innerHTML = told.panel; // escaped in the kernel
      actions.replaceChildren(...told.buttons.map(([text, what, href]) => href
        ? make('a', { class: 'button go', href, target: '_blank', rel: 'noopener noreferrer' }, text)
        : button(text, '', () => work('Asking…', { do: 'act', what }))));
    }
    if (told.status && !form.ariaBusy) say(told.status);
    waits.textContent = model.get('waits_for');
    body.hidden = foot.hidden = phase === 'done' || waits.textContent;
    form.classList.toggle('answered', phase === 'done');
    anyway.hidden = phase !== 'doubt';
    go.textContent = phase === 'unknown' ? 'Send again' : verb;
    // Whoever has gone on to something else stays there.
    if (mine && told.focus && (was === document.body || form.contains(was))) (fields[told.focus]?.input ?? panel).focus();
  };

  // A note that appears while a button is held down would move the button away from under the pointer.
  const hear = (told) => {
    if (told.found) told.by === me && fields[told.name].found(told.found, told.asked);
    else if (pressed) later.push(told);
    else view(told);
  };
  on(window, 'pointerdown', () => { pressed = true; });
  for (const type of ['pointerup', 'pointercancel']) on(window, type, () => setTimeout(() => {
    pressed = false;
    if (Object.keys(unsent).length) send({ do: 'leave' });
    later.splice(0).forEach(view);
  }));
  let byKey;
  on(form, 'submit', (event) => {
    event.preventDefault();
    if (phase !== 'unknown' || !byKey) submit(false);
  });
  // Keys inside a form are the form's: JupyterLab would insert or delete cells. Its commands with Ctrl or Cmd pass, but
  // for those that edit text, and Enter.
  on(el, 'keydown', (event) => {
    const command = event.ctrlKey || event.metaKey, isField = event.target.matches('input, select');
    byKey = isField && event.key === 'Enter';
    if (!command || 'acvxyz'.includes(event.key.toLowerCase()) || event.key === 'Enter') event.stopPropagation();
    if (command && byKey && phase !== 'unknown') {
      event.preventDefault();
      fields[event.target.name].take(); // the browser would say only later that it changed
      submit(false);
    }
  });
  on(el, 'keyup', () => { byKey = false; });
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
