// Draws a form from the `spec` that Python sends, and tells Python what the user enters.
// Values are never part of the widget's state, because JupyterLab may save that state in the notebook. They travel in
// custom messages (listed in form.py), and a secret is removed from the page as soon as its field is left.

const setAttributes = (node, attributes) => {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  return node;
};
const create = (tag, attributes, ...children) => {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
};
const div = (className, ...children) => create('div', { class: className }, ...children);
const hasFocus = (node) => node.contains(document.activeElement);

// Adds a list of suggestions to an input. Returns a function that shows the response to a search.
function addCombobox(input, label, listen, search, onChoose) {
  const list = create('ul', { id: input.id + 'l', role: 'listbox', 'aria-label': label + ': choices' });
  let selected, timer, searchId = 0;
  setAttributes(input, { role: 'combobox', 'aria-controls': list.id, 'aria-autocomplete': 'list', 'aria-expanded': false }).after(list);
  const show = (options) => {
    selected = -1;
    list.replaceChildren(...options.map(([code, name], i) =>
      create('li', { id: list.id + i, role: 'option', 'data-code': code, 'aria-selected': false }, create('b', {}, code), ' ' + name)));
    list.hidden = !options.length;
    setAttributes(input, { 'aria-expanded': !list.hidden, 'aria-activedescendant': '' });
    // A notebook's output area clips its content; a popover is drawn above it.
    const { left, bottom, width } = input.getBoundingClientRect();
    list.style.cssText = `left:${left}px;top:${bottom + 2}px;width:${width}px`;
    list.togglePopover?.(!list.hidden);
  };
  const close = () => {
    clearTimeout(timer);
    searchId++;
    show([]);
  };
  const startSearch = () => {
    clearTimeout(timer);
    search(input.value, ++searchId);
  };
  const choose = (option) => {
    input.value = option.dataset.code;
    close();
    onChoose();
  };
  const moveSelection = (step) => {
    const options = [...list.children];
    selected = selected < 0 && step < 0 ? options.length - 1 : (selected + step + options.length) % options.length;
    options.forEach((option, i) => setAttributes(option, { 'aria-selected': i === selected }));
    options[selected].scrollIntoView({ block: 'nearest' });
    setAttributes(input, { 'aria-activedescendant': list.id + selected });
  };
  list.popover = 'manual';
  // Without this, a click on an option would take the focus from the input, and blur closes the list.
  listen(list, 'mousedown', (event) => event.preventDefault());
  listen(list, 'click', (event) => event.target.closest('li') && choose(event.target.closest('li')));
  listen(input, 'click', () => list.hidden && startSearch());
  listen(input, 'input', () => {
    clearTimeout(timer);
    timer = setTimeout(startSearch, 80);
  });
  listen(input, 'blur', close);
  listen(input, 'keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], isChoice = event.key === 'Enter' && selected >= 0;
    if (step || isChoice) event.preventDefault();
    if (step && list.hidden) startSearch();
    else if (step) moveSelection(step);
    else if (isChoice) choose(list.children[selected]);
    else if (event.key === 'Escape' || event.key === 'Enter') close();
  });
  listen(window, 'scroll', (event) => list.hidden || event.target === list || close(), true);
  list.hidden = true;
  // Responses may arrive late or out of order: only the one to the latest search counts.
  return (options, id) => id === searchId && hasFocus(input) && show(options);
}

function render({ model, el }) {
  const { title, environment, submit_label: submitLabel, sections, optional, needs, timeout, box: [boxSection, boxHelp, boxLabel] = [] } = model.get('spec');
  const page = 'f' + Math.random().toString(36).slice(2);
  const fields = {}, cleanups = [], postponed = [];
  // actionCount is Python's: it ignores a click that carries an older count, such as a second click or another tab's.
  // touched: the fields that were left since the last message, with their new values, or null if unchanged.
  let actionCount, phase = 'open', showAll, pointerIsDown, clock, sendTimer, touched = {};
  const listen = (node, type, handler, ...options) => {
    node.addEventListener(type, handler, ...options);
    cleanups.push(() => node.removeEventListener(type, handler, ...options));
  };
  const button = (text, className, onClick) => {
    const node = create('button', { type: className === 'go' ? 'submit' : 'button', class: 'button ' + className }, text);
    if (onClick) node.addEventListener('click', onClick);
    return node;
  };

  const send = (message) => {
    clearTimeout(sendTimer);
    try {
      model.send({ ...message, touched, page });
      touched = {};
    } catch {
      stopWaiting();
      setStatus(['error', 'The kernel was restarted, so the values are lost. Run the cell again.']);
    }
  };
  // A field that is left by pressing a button is sent together with what the button does.
  const queue = (name, value) => {
    touched[name] = value;
    if (!pointerIsDown) sendTimer = setTimeout(() => send({ type: 'change' }));
  };

  const drawField = ([name, label, kind, required, help, example, options]) => {
    const id = page + name, isSecret = kind === 'secret';
    const input = create(options ? 'select' : 'input', { id, name, autocomplete: isSecret ? 'new-password' : 'off', spellcheck: false, 'aria-describedby': `${id}h ${id}n` });
    if (options) input.append(new Option(required ? 'Choose…' : 'Not given', ''), ...options.map((option) => new Option(option, option)));
    else input.type = isSecret ? 'password' : 'text';
    if (required) setAttributes(input, { 'aria-required': true });
    const hint = setAttributes(div('help', help), { id: id + 'h' }), notes = setAttributes(div('notes'), { id: id + 'n' });
    const box = div('field', create('label', { for: id, class: required ? 'required' : '' }, label), div('input', input), hint, notes);
    const field = fields[name] = { label, input, notes, box };
    field.setHint = (text) => { hint.textContent = text || help; };
    field.setHeld = (held) => {
      field.held = isSecret && held;
      input.placeholder = field.held ? 'kept, not shown' : example && 'e.g. ' + example;
      box.classList.toggle('held', field.held);
    };
    const commit = () => {
      const { value } = input;
      field.wasTouched = true;
      field.isEdited = false;
      queue(name, isSecret && !value ? null : value);
      if (isSecret && value) {
        input.value = '';
        field.setHeld(true);
      }
    };
    field.commitEdit = () => field.isEdited && commit();
    listen(input, 'input', () => {
      field.isEdited = true;
      if (name === 'currency' || name === 'rails') arrange();
    });
    listen(input, 'change', commit);
    listen(input, 'blur', () => field.wasTouched || commit());
    // The kernel never sends a secret back, so it cannot be edited: the user clears it and types it again.
    const clear = () => {
      field.setHeld(false);
      queue(name, '');
      input.focus();
    };
    if (isSecret) input.after(setAttributes(button('×', 'clear', clear), { 'aria-label': 'Clear ' + label }));
    if (kind === 'lookup') field.showOptions = addCombobox(input, label, listen, (text, id) => send({ type: 'search', name, text, search_id: id }), () => {
      arrange();
      commit();
    });
    field.setHeld(false);
    return box;
  };

  // Shows the required fields, those that the currency and rails need, and each that has a value, an error or the focus.
  const arrange = () => {
    if (!needs) return;
    const [currency, rails] = ['currency', 'rails'].map((name) => fields[name].input.value.trim());
    const code = currency.toUpperCase(), route = `over ${rails || 'local'} rails`;
    const groups = (needs[`${code} ${rails || 'local'}`] ?? needs[code])?.split(' ').map((group) => group.split('|'));
    const needed = groups ? groups.flat() : [], isKnown = groups || code.length < 3;
    let hideable = 0;
    for (const name in fields) {
      const { box, input, held } = fields[name], isHideable = optional.includes(name) && isKnown && !needed.includes(name);
      box.classList.toggle('needed', needed.includes(name));
      box.hidden = isHideable && !showAll && !held && !input.value && !box.classList.contains('wrong') && !hasFocus(box);
      hideable += isHideable;
    }
    const labels = groups?.map((group) => group.map((name) => fields[name].label).join(' or ')).join(', ');
    advice.textContent = groups ? `${code} ${route} usually needs: ${labels}.`
      : isKnown ? 'Choose a currency to see which fields it needs.' : `No published requirements for ${code} ${route}. Ask the bank which fields are needed.`;
    moreButton.textContent = showAll ? 'Fewer fields' : `More fields (${hideable})`;
    moreButton.hidden = !hideable;
    setAttributes(moreButton, { 'aria-expanded': !!showAll });
  };

  const subject = create('span', { class: 'help' }), waitsFor = div('help'), advice = div('help'), actions = div('row');
  const topStatus = div('status'), panel = setAttributes(div('panel'), { tabindex: -1 });
  const moreButton = button('', '', () => {
    showAll = !showAll;
    arrange();
  });
  const box = create('input', { type: 'checkbox', id: page + 'b' }), boxText = create('span', { class: 'help', 'aria-live': 'polite' });
  const boxRow = div('row', box, create('label', { for: box.id }, boxLabel || ''), boxText);
  const drawBox = (name) => name === boxSection ? [div('help', boxHelp), boxRow] : [];
  const body = div('', ...sections.map(([name, drawn]) => create('fieldset', {}, create('legend', {}, name), ...drawBox(name), div('grid', ...drawn.map(drawField)))));
  const submitButton = button(submitLabel, 'go'), anywayButton = button('Send anyway', '', () => submit(true));
  const foot = div('row', submitButton, anywayButton, create('span', { class: 'help' }, '* required'));
  const status = setAttributes(div('status'), { role: 'status' }), seconds = create('span', { class: 'help', 'aria-hidden': true });
  const badge = create('span', { class: 'badge ' + environment }, environment[0].toUpperCase() + environment.slice(1));
  const form = create('form', { class: 'payerkit', novalidate: true, 'aria-label': `${title} (${environment})` },
    div('title', create('b', {}, title), ' ', badge, ' ', subject), waitsFor, topStatus, panel, actions, body, foot, div('row line', status, seconds));
  boxRow.hidden = true;
  listen(box, 'change', () => send({ type: 'tick', is_ticked: box.checked }));
  if (needs) {
    body.querySelector('.grid').before(advice);
    body.append(moreButton);
  }

  // The status is below the button; a long form repeats it on top, because the first wrong field may be far from it.
  const setStatus = ([kind, text]) => {
    status.className = topStatus.className = 'status ' + kind;
    status.textContent = text;
    topStatus.textContent = phase === 'done' || body.querySelectorAll('.field').length < 9 ? '' : text;
    topStatus.hidden = !topStatus.textContent;
  };
  const stopWaiting = () => {
    clearInterval(clock);
    form.ariaBusy = null;
    seconds.textContent = '';
  };
  // Until Python replies, further clicks are ignored and the seconds are counted.
  const startAction = (text, message) => {
    if (form.ariaBusy || actionCount === undefined) return;
    const start = Date.now();
    form.ariaBusy = true;
    setStatus(['', text]);
    clock = setInterval(() => {
      const elapsed = Math.round((Date.now() - start) / 1000);
      seconds.textContent = elapsed + ' s';
      if (elapsed === 10) setStatus(['', `${text} Each request takes at most ${timeout} s.`]);
    }, 1000);
    send({ ...message, action_count: actionCount });
  };
  const submit = (anyway) => startAction('Sending…', { type: 'submit', anyway });

  const showNotes = ({ input, notes, box }, found) => {
    const hasSeverity = (wanted) => found.some(([severity]) => severity === wanted);
    const shown = JSON.stringify(found);
    if (notes.dataset.shown === shown) return;
    notes.dataset.shown = shown;
    notes.replaceChildren(...found.map(([severity, text, basis]) => div(severity, text, ' ', create('small', {}, basis))));
    setAttributes(input, { 'aria-invalid': hasSeverity('error') });
    box.classList.toggle('wrong', hasSeverity('error'));
    box.classList.toggle('doubtful', hasSeverity('warning'));
  };
  const update = (view) => {
    const focused = document.activeElement;
    if ('action_count' in view) {
      actionCount = view.action_count;
      stopWaiting();
    }
    phase = view.phase ?? phase;
    if ('box' in view) {
      boxRow.hidden = !view.box;
      [box.checked, boxText.textContent] = view.box ?? [false, ''];
    }
    for (const name in view.values) {
      const field = fields[name];
      // A reply to a page may be older than what the user is typing; a view without a page comes from fill() or clear().
      if (!view.page || !field.isEdited) field.input.value = view.values[name];
      field.isEdited &&= !!view.page;
      field.setHint(view.code_names[name]);
    }
    if (view.held) for (const name in fields) fields[name].setHeld(view.held.includes(name));
    if (view.notes) for (const name in fields) showNotes(fields[name], view.notes[name] || []);
    arrange();
    if (view.buttons) {
      subject.textContent = view.subject;
      // Python has escaped the HTML.
      if (panel.innerHTML !== view.panel) panel.innerHTML = view.panel;
      actions.replaceChildren(...view.buttons.map(([text, action, href]) => href
        ? create('a', { class: 'button go', href, target: '_blank', rel: 'noopener noreferrer' }, text)
        : button(text, '', () => startAction('Working…', { type: 'action', action }))));
    }
    if (view.status && !form.ariaBusy) setStatus(view.status);
    waitsFor.textContent = model.get('waits_for');
    body.hidden = foot.hidden = phase === 'done' || waitsFor.textContent;
    form.classList.toggle('answered', phase === 'done');
    anywayButton.hidden = phase !== 'confirm';
    submitButton.textContent = phase === 'unknown' ? 'Send again' : submitLabel;
    // A user who has moved on to another cell keeps the focus there.
    if (view.page === page && view.focus && (focused === document.body || form.contains(focused))) (fields[view.focus]?.input ?? panel).focus();
  };

  const onMessage = (message) => {
    if (message.options) message.page === page && fields[message.name].showOptions(message.options, message.search_id);
    // A note that appears during a click would move the button away from under the pointer.
    else if (pointerIsDown) postponed.push(message);
    else update(message);
  };
  listen(window, 'pointerdown', () => { pointerIsDown = true; });
  for (const type of ['pointerup', 'pointercancel']) listen(window, type, () => setTimeout(() => {
    pointerIsDown = false;
    if (Object.keys(touched).length) send({ type: 'change' });
    postponed.splice(0).forEach(update);
  }));
  let isEnterInField;
  listen(form, 'submit', (event) => {
    event.preventDefault();
    // After an unknown outcome Enter does not send again: that may create a duplicate, so it takes a click.
    if (phase !== 'unknown' || !isEnterInField) submit(false);
  });
  // JupyterLab handles keys in a form as commands, such as "d d" to delete the cell. Only its shortcuts with Ctrl or Cmd
  // pass, except those that edit text, and Enter.
  listen(el, 'keydown', (event) => {
    const hasModifier = event.ctrlKey || event.metaKey;
    isEnterInField = event.target.matches('input, select') && event.key === 'Enter';
    if (!hasModifier || 'acvxyz'.includes(event.key.toLowerCase()) || event.key === 'Enter') event.stopPropagation();
    if (hasModifier && isEnterInField && phase !== 'unknown') {
      event.preventDefault();
      // The browser fires `change` only when the field is left.
      fields[event.target.name]?.commitEdit();
      submit(false);
    }
  });
  listen(el, 'keyup', () => { isEnterInField = false; });
  const refresh = () => update({});
  model.on('msg:custom', onMessage);
  model.on('change:waits_for', refresh);
  el.append(form);
  refresh();
  send({ type: 'ready' });
  return () => {
    clearInterval(clock);
    cleanups.forEach((cleanup) => cleanup());
    model.off('msg:custom', onMessage);
    model.off('change:waits_for', refresh);
  };
}

export default { render };
