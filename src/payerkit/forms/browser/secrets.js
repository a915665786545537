// Makes a field secret. It is emptied when it is left, and then shows the value that Python holds, masked or not at all.
// An account number is visible while it is typed, and can be corrected afterwards, until it is sent or the page is gone:
// only the variable `kept` still has it, and no attribute of the page.
const compact = (text) => text.replace(/\s/g, '');
// A number with hyphens has groups of its own.
const inFours = (text) => /^[0-9a-z]*$/i.test(text) ? text.replace(/.{4}(?=.)/g, '$& ') : text;

// Groups what was typed; the caret stays behind the same character. Returns the text without blanks.
const groupTyped = (input, { inputType = '' }, before) => {
  const isDeletion = inputType.startsWith('delete');
  let text = compact(input.value), at = compact(input.value.slice(0, input.selectionStart)).length;
  // Whoever deletes the blank between two groups means the character beyond it.
  if (text === before && isDeletion) {
    if (inputType.endsWith('Backward')) at--;
    text = text.slice(0, at) + text.slice(at + 1);
  }
  const grouped = inFours(text), [head] = grouped.match(RegExp(`^(?: ?\\S){${at}}${isDeletion ? '' : ' ?'}`));
  if (grouped !== input.value) {
    input.value = grouped;
    input.setSelectionRange(head.length, head.length);
  }
  return text;
};

const addSecret = (field, kind, form) => {
  const { name, input, box } = field, isAccount = kind !== 'secret';
  let kept = '', typed = '', isKeptShown = false;
  const setHidden = (hidden) => {
    input.type = hidden ? 'password' : 'text';
    showSwitch.textContent = hidden ? 'Show' : 'Hide';
    field.nameButtons();
  };
  const showSwitch = setAttributes(button('', 'switch', () => setHidden(input.type === 'text')), { mousedown: keepFocus });
  const clearButton = button('Clear', 'clear', () => {
    field.setHeld();
    field.forget();
    form.queue(name, '');
    input.focus();
  });
  field.nameButtons = () => {
    for (const each of [showSwitch, clearButton]) each.ariaLabel = `${each.textContent} ${field.label}`;
  };
  input.after(showSwitch, clearButton);
  input.autocomplete = isAccount ? 'off' : 'new-password';

  // A field that is left empty keeps what is held, unless that was shown and erased.
  field.value = () => (isAccount ? compact(input.value) : input.value) || (isKeptShown ? '' : null);
  field.setHeld = (masked) => {
    field.held = masked;
    field.showExample();
    box.classList.toggle('held', masked !== undefined);
  };
  field.forget = () => {
    kept = '';
    if (!field.isEdited) input.value = typed = '';
  };
  field.leave = () => {
    if (input.value && field.held === undefined) field.setHeld(''); // until Python says how it is masked
    if (input.value || isKeptShown) kept = isAccount ? input.value : '';
    input.value = typed = '';
    isKeptShown = false;
    setHidden(!isAccount);
  };
  input.addEventListener('focus', () => {
    if (!kept || input.value) return;
    isKeptShown = true;
    input.value = kept;
    typed = compact(kept);
    input.select();
  });
  if (kind === 'in_fours') input.addEventListener('input', (event) => { typed = groupTyped(input, event, typed); });
  setHidden(!isAccount);
};
