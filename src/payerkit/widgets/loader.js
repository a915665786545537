// Gets from the kernel what a widget shows at first, with its code, unless the page has that already. Without a kernel it
// says so. Each widget is sent with this loader only, so that ten forms of a page do not send their code ten times.
const PATIENCE = 1500; // ms until a widget asks for code that another one has asked for, or says that the kernel is busy
const codes = (globalThis.payerkitCodes ??= new Map());

export const render = async ({ model, el }, unpack, load) => {
  let timer, notice;
  // Says why a widget is missing or holds no values any more, below its title.
  const tell = (text, role = 'status') => {
    stopTelling();
    notice = document.createElement('div');
    const title = document.createElement('b');
    title.textContent = model.get('label');
    notice.append(title, Object.assign(document.createElement('div'), { role, textContent: text }));
    notice.style = `max-width: 840px; margin: 4px; padding: 8px; border: 1px dashed;
      color: var(--jp-ui-font-color2); font: var(--jp-ui-font-size1, 13px) / 1.4 var(--jp-ui-font-family, system-ui)`;
    el.prepend(notice);
  };
  const stopTelling = () => {
    clearTimeout(timer);
    notice?.remove();
  };
  const tellAbsence = () => tell('Not connected to a kernel, so it holds no values. Run the cell again.');
  // Hosts mark an element that is drawn without a kernel.
  if (el.classList.contains('jupyter-widgets-disconnected')) return tellAbsence();
  const disposal = new AbortController(), page = 'p' + Math.random().toString(36).slice(2), id = model.get('code_id');
  const isAsked = codes.has(id), code = codes.get(id) ?? Promise.withResolvers();
  const ask = (needsCode) => model.send({ type: 'start', page, needs_code: needsCode });
  // What the kernel sends after its reply is newer than that, and waits until that is shown.
  const first = Promise.withResolvers(), shown = Promise.withResolvers();
  let hasReply, module;
  model.on('msg:custom', (message, [packed, script] = []) => {
    if (message.type !== 'start') return hasReply && shown.promise.then((receive) => receive(message));
    if (message.page !== page) return;
    hasReply = true;
    if (script) code.resolve(load(script));
    first.resolve(unpack(packed).json());
  });
  codes.set(id, code);
  ask(!isAsked);
  timer = setTimeout(() => {
    tell('The kernel is busy. Wait, or interrupt it.');
    // The other widget may belong to a notebook whose kernel is busy or dies.
    if (isAsked && !module) ask(true);
  }, PATIENCE);
  Promise.all([code.promise, first.promise]).then(stopTelling);
  module = await Promise.race([code.promise, new Promise((resolve) => model.on('comm_live_update', () => resolve()))]);
  if (!module) return tellAbsence();
  module.begin({ model, el, signal: disposal.signal, spec: await unpack(model.get('spec')).json(), page, first: first.promise, shown: shown.resolve, tell });
  return () => disposal.abort();
};
