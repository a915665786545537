const TYPE = ['beneficiary_type', 'Choose the type first: a person and a company are asked for different things.'];

// Shows the fields that are asked for: those of the type that a field chooses, such as that of payer or holder, and those
// that the currency needs on its rails, with the others behind "More fields". A field that has a value, an error or the
// focus is never hidden.
// Returns the nodes to add, `arrange`, the field that chooses, and `setNeeds`, which takes what the currency needs from
// Python.
const arrangeFields = ({ optional = [], chooser: [chooser, chooseFirst] = TYPE }, fields, say) => {
  let showAll, asked = [], needed = [], needsText = '', wasArranged;
  const advice = div('help');
  const arrange = () => {
    const holder = fields[chooser]?.input.value, appeared = [];
    let hideable = 0, needsType = false;
    for (const name in fields) {
      const field = fields[name], { box, only } = field, wasHidden = box.hidden;
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
    moreButton.textContent = showAll ? 'Fewer fields' : `More fields (${hideable})`;
    moreButton.hidden = !hideable;
    setAttributes(moreButton, { 'aria-expanded': !!showAll });
  };
  const setNeeds = (needs) => { [asked, needed, needsText] = needs; };
  const moreButton = button('', '', () => {
    showAll = !showAll;
    arrange();
    say(''); // the button says it
  });
  return { advice, moreButton, arrange, chooser, setNeeds };
};
