// Draws the banner above the fields of a form: errors that lead to their fields, a request that is sent, its outcome.
// go(name): leads to a field. act(action): starts an action. setReady(isReady): says whether sending may succeed now.
const MARKS = { error: '✗', warning: '!', success: '✓', info: 'i', sending: '…' };
const drawBanner = ({ go, act, setReady, timeout }) => {
  const node = setAttributes(div('banner'), { tabindex: -1 });
  let shown, clock;
  // Calls `say` every second with the seconds that passed.
  const count = (say) => {
    const start = Date.now(), tick = () => say(Math.round((Date.now() - start) / 1000));
    clock = setInterval(tick, 1000);
    tick();
  };
  const countSeconds = ({ seconds, can_stop: canStop }) => {
    const time = create('span', { class: 'seconds', 'aria-hidden': true }), note = create('span', {});
    count((passed) => {
      time.textContent = `${seconds + passed} s`;
      if (seconds + passed >= 10) note.textContent = `Each request takes at most ${timeout} s.`;
    });
    return div('sub', time, note, ...canStop ? [button('Stop', '', () => act('stop'))] : []);
  };
  const countDown = (wait) => {
    const time = div(''), end = setAttributes(div(''), { 'aria-live': 'polite' }); // what counts every second is not announced
    setReady(false);
    count((passed) => {
      if (passed < wait) {
        time.textContent = `You can try again in ${wait - passed} s.`;
        return;
      }
      clearInterval(clock);
      time.textContent = '';
      end.textContent = 'You can try again now.';
      setReady(true);
    });
    return div('', time, end);
  };
  const link = (text, name) => {
    const line = create('button', { type: 'button', class: 'link' }, text);
    line.addEventListener('click', () => go(name));
    return line;
  };
  const show = (banner) => {
    const now = JSON.stringify(banner);
    if (now === shown) return;
    const isSame = shown && banner && node.dataset.title === banner.title;
    shown = now;
    clearInterval(clock);
    setReady(true);
    node.hidden = !banner;
    if (!banner) return;
    const { kind, title, lines = [], details, wait } = banner;
    node.className = 'banner ' + kind;
    // Its role announces it, so a title that stays is left alone.
    if (!isSame) {
      node.dataset.title = title;
      const mark = create('span', { class: 'mark', 'aria-hidden': true }, MARKS[kind]);
      node.replaceChildren(setAttributes(div('head', mark, create('b', {}, title)), { role: kind === 'error' ? 'alert' : 'status' }));
    }
    const isList = lines.some(([, name]) => name);
    const rest = isList ? create('ul', {}, ...lines.map(([text, name]) => create('li', {}, name ? link(text, name) : text)))
      : div('', ...lines.map(([text]) => div('', text)));
    const folded = details ? [create('details', {}, create('summary', {}, 'Details'), div('', details))] : [];
    const timed = kind === 'sending' ? [countSeconds(banner)] : wait ? [countDown(wait)] : [];
    node.replaceChildren(node.firstChild, ...lines.length ? [rest] : [], ...timed, ...folded);
  };
  node.hidden = true;
  return { node, show, stop: () => clearInterval(clock) };
};
