// Draws one field: label, input, help and notes. `form` has what a field asks of its form: `id`, `queue(name, value)`,
// `send(message)`, `arrange()` and `signal`.
const drawField = ([name, label, kind, required, help, example, options], form) => {
  const id = form.id + name, isSecret = kind === 'secret';
  const input = create(options ? 'select' : 'input', { id, name, autocomplete: isSecret ? 'new-password' : 'off', spellcheck: false, 'aria-describedby': `${id}h ${id}n` });
  if (options) input.append(new Option(required ? 'Choose…' : 'Not given', ''), ...options.map((option) => new Option(option, option)));
  else input.type = isSecret ? 'password' : 'text';
  if (required) setAttributes(input, { 'aria-required': true });
  const hint = setAttributes(div('help', help), { id: id + 'h' }), notes = setAttributes(div('notes'), { id: id + 'n' });
  const box = div('field', create('label', { for: id, class: required ? 'required' : '' }, label), div('input', input), hint, notes);
  const field = { name, label, input, box };
  field.setHint = (text) => { hint.textContent = text || help; };
  field.setHeld = (held) => {
    field.held = isSecret && held;
    input.placeholder = field.held ? 'kept, not shown' : example && 'e.g. ' + example;
    box.classList.toggle('held', field.held);
  };
  field.showNotes = (found) => {
    const hasSeverity = (wanted) => found.some(([severity]) => severity === wanted);
    const shown = JSON.stringify(found);
    if (notes.dataset.shown === shown) return;
    notes.dataset.shown = shown;
    notes.replaceChildren(...found.map(([severity, text, basis]) => div(severity, text, ' ', create('small', {}, basis))));
    setAttributes(input, { 'aria-invalid': hasSeverity('error') });
    box.classList.toggle('wrong', hasSeverity('error'));
    box.classList.toggle('doubtful', hasSeverity('warning'));
  };
  const commit = () => {
    const { value } = input;
    field.wasTouched = true;
    field.isEdited = false;
    form.queue(name, isSecret && !value ? null : value);
    if (isSecret && value) {
      input.value = '';
      field.setHeld(true);
    }
  };
  field.commitEdit = () => field.isEdited && commit();
  input.addEventListener('input', () => {
    field.isEdited = true;
    form.arrange(name);
  });
  input.addEventListener('change', commit);
  input.addEventListener('blur', () => field.wasTouched || commit());
  // The kernel never sends a secret back, so it cannot be edited: the user clears it and types it again.
  const clear = () => {
    field.setHeld(false);
    form.queue(name, '');
    input.focus();
  };
  if (isSecret) input.after(setAttributes(button('×', 'clear', clear), { 'aria-label': 'Clear ' + label }));
  if (kind === 'lookup') field.showOptions = addCombobox(input, label, {
    signal: form.signal,
    search: (text, searchId) => form.send({ type: 'search', name, text, search_id: searchId }),
    onChoose: () => {
      form.arrange(name);
      commit();
    },
  });
  field.setHeld(false);
  return field;
};
