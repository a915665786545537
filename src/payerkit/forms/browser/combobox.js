// Adds a list of suggestions to a field. Tab and Enter take the highlighted one: the only one, the one that the text says
// exactly, or the one that arrows went to. Before a list is there, Python decides which one that is.
// `field.showOptions` takes the response to a search.
const addCombobox = (field, form) => {
  const { name, input, label } = field;
  const list = create('ul', { id: input.id + 'l', role: 'listbox', 'aria-label': label + ': choices' }), foot = div('foot');
  const popup = create('div', { class: 'choices', popover: 'manual' }, list, foot);
  const arrow = create('button', { type: 'button', class: 'arrow', tabindex: -1, 'aria-label': `${label}: show choices` });
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

  setAttributes(input, { role: 'combobox', 'aria-controls': list.id, 'aria-autocomplete': 'list', 'aria-expanded': false }).after(arrow, popup);
  input.style.anchorName = popup.style.positionAnchor = '--' + input.id;
  // Without this, a click in the list would take the focus from the input, and leaving closes the list.
  for (const node of [popup, arrow]) node.addEventListener('mousedown', (event) => event.preventDefault());
  list.addEventListener('click', (event) => event.target.closest('li') && choose(event.target.closest('li')));
  arrow.addEventListener('click', () => {
    input.focus();
    isOpen ? close() : search();
  });
  input.addEventListener('click', () => isOpen || search());
  input.addEventListener('input', () => {
    searchId++; // what was found for less text counts no more
    select(-1);
    clearTimeout(timer);
    timer = setTimeout(search, 80);
  });
  input.addEventListener('blur', close);
  onKey(input, (event) => {
    const { key } = event, { length } = list.children, step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    if (step) {
      event.preventDefault();
      if (!isOpen) search();
      else if (length) select(selected < 0 && step < 0 ? length - 1 : (selected + step + length) % length);
      isBrowsed = isOpen;
    } else if (isBrowsed && (key === 'Home' || key === 'End')) {
      event.preventDefault();
      select(key === 'Home' ? 0 : length - 1);
    } else if (key === 'Escape') close();
    else if (key === 'Enter' || key === 'Tab') {
      if (key === 'Enter' && (isOpen || field.isEdited)) event.preventDefault();
      if (isOpen && selected >= 0) choose(list.children[selected]);
      else if (field.isEdited) field.commit(true);
      close();
    }
  });
};
