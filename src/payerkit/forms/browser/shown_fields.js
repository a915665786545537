// Shows the fields that are asked for: those of the type of payer or holder, and those that the currency needs on its
// rails, with the others behind "More fields". A field that has a value, an error or the focus is never hidden.
// Returns the nodes to add, `arrange`, and `setNeeds`, which takes what the currency needs from Python.
const arrangeFields = ({ optional = [] }, fields, say) => {
  let showAll, needed = [], wasArranged;
  const advice = div('help');
  const arrange = () => {
    const holder = fields.beneficiary_type?.input.value, appeared = [];
    let hideable = 0;
    for (const name in fields) {
      const field = fields[name], { box, only } = field, wasHidden = box.hidden;
      const applies = !only || only === holder, isNeeded = needed.includes(name), isHideable = optional.includes(name) && !isNeeded;
      field.setHolder(holder);
      box.classList.toggle('needed', isNeeded || (applies && !!only));
      box.hidden = !(applies && (showAll || !isHideable)) && !field.isInUse();
      if (wasHidden && !box.hidden) appeared.push(field.label);
      hideable += applies && isHideable;
    }
    if (wasArranged && appeared.length) say(`Now also asked: ${appeared.join(', ')}.`);
    wasArranged = true;
    moreButton.textContent = showAll ? 'Fewer fields' : `More fields (${hideable})`;
    moreButton.hidden = !hideable;
    setAttributes(moreButton, { 'aria-expanded': !!showAll });
  };
  const setNeeds = ([names, text]) => {
    needed = names;
    advice.textContent = text;
  };
  const moreButton = button('', '', () => {
    showAll = !showAll;
    arrange();
  });
  return { advice, moreButton, arrange, setNeeds };
};
