// Returns times, in ms, until the fields of another currency are laid out, each from an idle kernel.
// The page is looked at whenever it changes, so that looking delays nothing. One round before does not count.
async (form, rounds) => {
  const field = name => form.querySelector(`[name=${name}]`), currency = field("currency");
  const isShown = name => field(name).getBoundingClientRect().height > 0;
  const change = (code, needed) => new Promise((done, fail) => {
    if (isShown(needed)) fail(new Error(`${needed} is shown before ${code} is chosen`));
    const start = performance.now();
    const late = setTimeout(() => fail(new Error(`${needed} is not shown for ${code}`)), 5000);
    const observer = new MutationObserver(() => {
      if (!isShown(needed)) return;
      done(performance.now() - start);
      observer.disconnect();
      clearTimeout(late);
    });
    observer.observe(form, {attributes: true, childList: true, subtree: true});
    currency.value = code;
    currency.dispatchEvent(new Event("input"));
    currency.dispatchEvent(new FocusEvent("focusout", {bubbles: true}));
  });
  const waitIdle = async () => {
    for (let quiet = 0; quiet < 5; quiet = probe.idle() ? quiet + 1 : 0)
      await new Promise(next => setTimeout(next, 10));
  };
  const times = [];
  for (let round = -1; round < rounds; round++) {
    for (const [code, needed] of [["EUR", "iban"], ["USD", "routing_number"], ["GBP", "sort_code"], ["INR", "ifsc"]]) {
      await waitIdle();
      const ms = await change(code, needed);
      if (round >= 0) times.push(ms);
    }
  }
  return times;
}
