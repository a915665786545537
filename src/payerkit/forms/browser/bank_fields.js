// Shows the fields of bank details that the currency and rails need, with the others behind "More fields".
// Returns the nodes to add, and `arrange`, which shows the required fields, those that are needed, and each that has a
// value, an error or the focus.
const followCurrency = ({ optional, needs }, fields) => {
  let showAll;
  const advice = div('help');
  const arrange = () => {
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
  const moreButton = button('', '', () => {
    showAll = !showAll;
    arrange();
  });
  return { advice, moreButton, arrange };
};
