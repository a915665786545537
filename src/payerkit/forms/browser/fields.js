// Adds a button behind an input, whose action Enter starts, too.
const addAction = (input, [label, action], act) => {
  input.after(button(label, 'beside', () => act(action)));
  onKey(input, (event) => {
    if (event.key !== 'Enter' || hasModifier(event) || event.isComposing) return;
    event.preventDefault();
    act(action);
  });
};

// Draws one field: label, input, help and notes. `form` has what a field asks of its form: `id`, `actions`, `marks`,
// `queue(name, value, isTaken)`, `send(message)`, `act(action)`, `say(text)` and `arrange()`.
const drawField = ([name, title, kind, required, help, example, { options, only, business = [] } = {}], form) => {
  const id = form.id + name, isSelect = options || kind === 'choice';
  const input = create(isSelect ? 'select' : 'input', { id, name, autocomplete: 'off', spellcheck: false, 'aria-describedby': `${id}h ${id}n` });
  if (required) input.ariaRequired = true;
  const label = create('label', { for: id, class: required ? 'required' : '' }, title);
  const hint = create('div', { class: 'help', id: id + 'h' }), notes = create('div', { class: 'notes', id: id + 'n' });
  const mark = (form.marks ?? {})[name];
  const marked = mark ? [create('span', { class: 'apart', role: 'img', title: mark, 'aria-label': mark }, '†')] : [];
  const box = div('field', label, div('input', input, ...marked), hint, notes);
  const field = { name, input, box, only, label: title, value: () => input.value };
  let own = [], local = [title, example], choices, wasTouched;
  field.showHint = () => { hint.textContent = field.codeName || own[1] || help; };
  // Says what is held of a secret, or gives an example of what to enter.
  field.showExample = () => {
    const shown = own[2] || local[1];
    input.placeholder = field.held === undefined ? shown && 'e.g. ' + shown : field.held || 'Entered, not shown';
  };
  field.setHolder = (holder) => {
    own = holder === 'business' ? business : [];
    field.label = label.textContent = own[0] || local[0];
    field.showHint();
    field.nameButtons?.();
    field.showExample();
  };
  // The label and the example as in the country that was entered.
  field.setLocal = (found) => { local = found ?? [title, example]; };
  // Python may find the options while the form is filled in.
  field.setChoices = (found) => {
    const { value } = input, now = JSON.stringify(found);
    if (now === choices) return;
    choices = now;
    const none = !options && !found.length ? example : required ? 'Choose…' : 'Not given';
    input.replaceChildren(new Option(none, ''), ...found.map(([code, words]) => new Option(words, code)));
    input.value = value;
  };
  field.isInUse = () => field.held !== undefined || !!input.value || box.classList.contains('wrong') || hasFocus(box);
  field.showNotes = (found) => {
    const hasSeverity = (wanted) => found.some(([severity]) => severity === wanted), shown = JSON.stringify(found);
    if (notes.dataset.shown === shown) return;
    notes.dataset.shown = shown;
    notes.replaceChildren(...found.map(([severity, text, basis, use]) =>
      div(severity, text, ' ', create('small', {}, basis), ...use ? [button(use, 'use', takeReading)] : [])));
    setAttributes(input, { 'aria-invalid': hasSeverity('error') });
    box.classList.toggle('wrong', hasSeverity('error'));
    box.classList.toggle('doubtful', hasSeverity('warning'));
  };
  const takeReading = () => {
    input.focus(); // the button goes away with its note
    form.send({ type: 'use', name });
  };
  // Python gets the new value, or null if it is unchanged. isTaken: the text is to be replaced by the code that it means.
  field.commit = (isTaken) => {
    form.queue(name, field.isEdited ? field.value() : null, isTaken);
    wasTouched = true;
    field.isEdited = false;
  };
  field.commitEdit = () => field.isEdited && field.commit();
  input.addEventListener('input', () => {
    field.isEdited = true;
    form.arrange(name);
  });
  input.addEventListener('change', field.commitEdit);
  // Tab takes what a text means; whoever leaves with a click is offered it.
  onKey(input, (event) => event.key === 'Tab' && !hasModifier(event) && !event.shiftKey && !isSelect && kind !== 'lookup' && field.isEdited && field.commit(true));
  box.addEventListener('focusout', ({ relatedTarget }) => {
    if (box.contains(relatedTarget)) return;
    if (field.isEdited || !wasTouched) field.commit();
    field.leave?.();
  });
  if (isSelect) field.setChoices(options || []);
  if (['secret', 'account', 'in_fours'].includes(kind)) addSecret(field, kind, form);
  if (form.actions[name]) addAction(input, form.actions[name], form.act);
  if (kind === 'lookup') addCombobox(field, form);
  field.setHolder('');
  return field;
};

const TYPE = ['beneficiary_type', 'Choose the type first: a person and a company are asked for different things.'];

// Shows the fields that are asked for: those of the type that a field chooses, such as that of payer or holder, and those
// that the currency needs on its rails, with the others behind "More fields". A field in use is never hidden. Returns the
// nodes to add, `arrange`, the field that chooses, and `setNeeds`, which takes what the currency needs from Python.
const arrangeFields = ({ optional = [], chooser: [chooser, chooseFirst] = TYPE }, fields, say) => {
  let showAll = false, asked = [], needed = [], needsText = '', wasArranged;
  const advice = div('help');
  const arrange = () => {
    const holder = fields[chooser]?.input.value, appeared = [];
    let hideable = 0, needsType = false;
    for (const [name, field] of Object.entries(fields)) {
      const { box, only } = field, wasHidden = box.hidden;
      const applies = !only || only === holder, isHideable = optional.includes(name) && !asked.includes(name);
      field.setHolder(holder);
      box.classList.toggle('needed', needed.includes(name) || (applies && !!only && !optional.includes(name)));
      box.hidden = !(applies && (showAll || !isHideable)) && !field.isInUse();
      if (wasHidden && !box.hidden) appeared.push(field.label);
      hideable += applies && isHideable;
      needsType ||= only && !holder;
    }
    if (wasArranged && appeared.length) say(`Fields added: ${appeared.join(', ')}.`);
    wasArranged = true;
    advice.textContent = needsText || (needsType ? chooseFirst : '');
    Object.assign(moreButton, { textContent: showAll ? 'Fewer fields' : `More fields (${hideable})`, hidden: !hideable, ariaExpanded: showAll });
  };
  const setNeeds = (needs) => { [asked, needed, needsText] = needs; };
  const moreButton = button('', '', () => {
    showAll = !showAll;
    arrange();
    say(''); // the button says it
  });
  return { advice, moreButton, arrange, chooser, setNeeds };
};
