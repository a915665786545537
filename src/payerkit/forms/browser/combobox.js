// Adds a list of suggestions, and `showOptions`, which takes the response to a search. Tab and Enter take the highlighted
// one: the only one, the one that the text says exactly, or that arrows went to; before there is a list, Python decides.
const addCombobox = (field, form) => {
  const { name, input, label } = field;
  const list = create('ul', { id: input.id + 'l', role: 'listbox', 'aria-label': label + ': choices' }), foot = div('foot');
  // A click in the list takes no focus from the input: leaving that closes the list.
  const popup = create('div', { class: 'choices', popover: 'manual', mousedown: keepFocus }, list, foot);
  const arrow = setAttributes(button('▾', 'arrow'), { tabindex: -1, 'aria-label': `${label}: show choices`, mousedown: keepFocus });
  let selected = -1, isOpen = false, isBrowsed, timer, searchId = 0;

  const select = (i) => {
    selected = i;
    [...list.children].forEach((option, at) => setAttributes(option, { 'aria-selected': at === i }));
    setAttributes(input, { 'aria-activedescendant': list.children[i]?.id ?? '' });
    list.children[i]?.scrollIntoView({ block: 'nearest' });
  };
  // A notebook's output area clips its content; a popover is drawn above it.
  const setOpen = (open) => {
    isOpen = open;
    popup.togglePopover(open);
    setAttributes(input, { 'aria-expanded': open });
  };
  const close = () => {
    clearTimeout(timer);
    searchId++;
    isBrowsed = false;
    select(-1);
    if (isOpen) setOpen(false);
  };
  // A value that was not typed is no search: the list begins with what is used most.
  const search = () => {
    clearTimeout(timer);
    form.send({ type: 'search', name, text: field.isEdited ? input.value : '', search_id: ++searchId });
  };
  const choose = ({ dataset }) => {
    input.value = dataset.code;
    field.isEdited = true;
    close();
    form.say(`${label}: ${dataset.name}`);
    field.commit();
  };
  field.showOptions = ({ options, match, more, search_id: id }) => {
    // Responses may arrive late or out of order: only the one to the latest search counts.
    if (id !== searchId || !hasFocus(input)) return;
    // Arrows may be faster than a search: what they went to stays, if it is still there.
    const chosen = isBrowsed ? options.findIndex(([code]) => code === list.children[selected]?.dataset.code) : -1;
    list.replaceChildren(...options.map(([code, text], i) =>
      create('li', { id: list.id + i, role: 'option', 'data-code': code, 'data-name': text }, create('b', {}, code), ' ' + text)));
    foot.textContent = !options.length ? 'Nothing found.' : more ? `and ${more} more: keep typing` : '';
    isBrowsed = chosen >= 0;
    setOpen(true);
    list.scrollTop = 0;
    select(isBrowsed ? chosen : match);
    form.say(`${options.length ? `${options.length + more} found.` : ''} ${foot.textContent}`);
  };
  setAttributes(input, { role: 'combobox', 'aria-controls': list.id, 'aria-autocomplete': 'list', 'aria-expanded': false });
  setAttributes(input, { click: () => isOpen || search(), blur: close }).after(arrow, popup);
  input.style.anchorName = popup.style.positionAnchor = '--' + input.id;
  list.addEventListener('click', (event) => event.target.closest('li') && choose(event.target.closest('li')));
  arrow.addEventListener('click', () => {
    input.focus();
    isOpen ? close() : search();
  });
  input.addEventListener('input', () => {
    searchId++; // what was found for less text counts no more
    select(-1);
    clearTimeout(timer);
    timer = setTimeout(search, 80);
  });
  onKey(input, (event) => {
    const { key } = event, last = list.children.length - 1;
    if (event.isComposing || hasModifier(event)) return;
    const arrows = { ArrowDown: selected < last ? selected + 1 : 0, ArrowUp: selected > 0 ? selected - 1 : last };
    const goal = { ...arrows, ...isBrowsed && { Home: 0, End: last } }[key];
    if (goal !== undefined) {
      event.preventDefault();
      isOpen ? select(Math.min(goal, last)) : search();
      isBrowsed = isOpen;
    } else if (key === 'Escape') close();
    else if (key === 'Enter' || key === 'Tab') {
      if (key === 'Enter' && (isOpen || field.isEdited)) event.preventDefault();
      if (isOpen && selected >= 0) choose(list.children[selected]);
      else if (field.isEdited) field.commit(true);
      close();
    }
  });
};
