// Adds a list of suggestions to an input. Returns a function that shows the response to a search.
const addCombobox = (input, label, { signal, search, onChoose }) => {
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
  list.addEventListener('mousedown', (event) => event.preventDefault());
  list.addEventListener('click', (event) => event.target.closest('li') && choose(event.target.closest('li')));
  input.addEventListener('click', () => list.hidden && startSearch());
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(startSearch, 80);
  });
  input.addEventListener('blur', close);
  onKey(input, (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], isChoice = event.key === 'Enter' && selected >= 0;
    if (step || isChoice) event.preventDefault();
    if (step && list.hidden) startSearch();
    else if (step) moveSelection(step);
    else if (isChoice) choose(list.children[selected]);
    else if (event.key === 'Escape' || event.key === 'Enter') close();
  });
  window.addEventListener('scroll', (event) => list.hidden || event.target === list || close(), { capture: true, signal });
  list.hidden = true;
  // Responses may arrive late or out of order: only the one to the latest search counts.
  return (options, id) => id === searchId && hasFocus(input) && show(options);
};
