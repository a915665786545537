// Adds a list of suggestions, and `showOptions`, which takes the response to a search. Tab and Enter take the highlighted
// one: the only one, the one that the text says exactly, or that arrows went to; before there is a list, Python decides.
const NUMBERS = ['', '', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine'];
const addCombobox = (field, form) => {
  const { name, input, label } = field;
  const list = create('ul', { id: input.id + 'l', role: 'listbox', 'aria-label': label + ': choices' }), foot = div('foot');
  // A click in the list takes no focus from the input: leaving that closes the list.
  const popup = create('div', { class: 'choices', popover: 'manual', mousedown: keepFocus }, list, foot);
  const arrow = setAttributes(button('▾', 'arrow'), { tabindex: -1, 'aria-label': `${label}: show choices`, mousedown: keepFocus });
  let selected = -1, isOpen = false, isBrowsed, isAsked, timer, searchId = 0, count = 0, leftAt = 0;

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
    if (Date.now() - leftAt > 500) searchId++;
    count = 0;
    isBrowsed = isAsked = false;
    select(-1);
    if (isOpen) setOpen(false);
  };
  // A value that was not typed is no search: the list begins with what is used most.
  const search = (text = field.isEdited ? input.value : '') => {
    clearTimeout(timer);
    form.send({ type: 'search', name, text, search_id: ++searchId });
  };
  const askToChoose = () => {
    isAsked = true; // a second Tab leaves the field
    foot.textContent = `${NUMBERS[count] ?? count} match: choose one`;
    form.say(foot.textContent);
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
    if (id !== searchId) return;
    // Who types fast has left before there is a list: nothing typed since, they come back to choose.
    const isBack = Date.now() - leftAt < 500 && match < 0 && options.length > 1;
    if (isBack) input.focus();
    if (!hasFocus(input)) return;
    leftAt = 0;
    // Arrows may be faster than a search: what they went to stays, if it is still there.
    const chosen = isBrowsed ? options.findIndex(([code]) => code === list.children[selected]?.dataset.code) : -1;
    list.replaceChildren(...options.map(([code, text], i) =>
      create('li', { id: list.id + i, role: 'option', 'data-code': code, 'data-name': text }, create('b', {}, code), ' ' + text)));
    foot.textContent = !options.length ? 'Nothing found.' : more ? `and ${more} more: keep typing` : '';
    isBrowsed = chosen >= 0;
    isAsked = false;
    count = options.length + more;
    setOpen(true);
    list.scrollTop = 0;
    select(isBrowsed ? chosen : match);
    isBack ? askToChoose() : form.say(`${options.length ? `${count} found.` : ''} ${foot.textContent}`);
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
    count = 0;
    select(-1);
    clearTimeout(timer);
    timer = setTimeout(() => search(), 80);
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
    else if (key === 'Tab' && !event.shiftKey && count > 1 && selected < 0 && field.isEdited && !isAsked) {
      event.preventDefault();
      askToChoose();
    } else if (key === 'Enter' || key === 'Tab') {
      if (key === 'Enter' && (isOpen || field.isEdited)) event.preventDefault();
      if (isOpen && selected >= 0) choose(list.children[selected]);
      else if (field.isEdited) {
        field.commit(true);
        if (key === 'Enter' || event.shiftKey || isAsked || !input.value) return close();
        leftAt = Date.now();
        input.form.addEventListener('input', () => { leftAt = 0; }, { once: true });
        search(input.value);
      }
      close();
    }
  });
};
