// Gets the code of a widget from the kernel, unless the page has it already, and runs it. Without a kernel it says so.
// Each widget is sent with this loader only, so that ten forms of a page do not send their code ten times.
const PATIENCE = 1500; // ms until a widget asks for code that another one has asked for, or says that the kernel is busy
const codes = (globalThis.payerkitCodes ??= new Map());

const unzip = (packed) => new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')));
const unpack = async (packed) => {
  const url = URL.createObjectURL(new Blob([await unzip(packed).text()], { type: 'text/javascript' }));
  const module = await import(url);
  URL.revokeObjectURL(url);
  return module;
};
const load = async (model) => {
  const id = model.get('code_id'), code = codes.get(id) ?? Promise.withResolvers();
  // The other widget may belong to a notebook whose kernel is busy or dies.
  const module = codes.has(id) && await Promise.race([code.promise, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  if (module) return module;
  codes.set(id, code);
  model.on('msg:custom', (message, buffers) => message.code_id === id && code.resolve(unpack(buffers[0])));
  model.send({ type: 'code' });
  return code.promise;
};

// Draws the title of a widget, and why it is missing or holds no values any more.
const drawNotice = (model, text, role = 'status') => {
  const title = Object.assign(document.createElement('b'), { textContent: model.get('label') });
  const reason = Object.assign(document.createElement('div'), { role, textContent: text }), notice = document.createElement('div');
  notice.style = `box-sizing: border-box; max-width: 860px; margin: 4px; padding: 8px 12px; border: 1px dashed; border-radius: 3px;
    color: var(--jp-ui-font-color2); font: var(--jp-ui-font-size1, 13px) / 1.4 var(--jp-ui-font-family, system-ui)`;
  notice.append(title, reason);
  return notice;
};

const render = async ({ model, el }) => {
  const absent = drawNotice(model, 'Not connected to a kernel, so it holds no values. Run the cell again.');
  // Hosts mark an element that is drawn without a kernel.
  if (el.classList.contains('jupyter-widgets-disconnected')) return el.append(absent);
  const disposal = new AbortController(), busy = drawNotice(model, 'The kernel is busy. Wait, or interrupt it.');
  const timer = setTimeout(() => el.append(busy), PATIENCE);
  const loss = new Promise((resolve) => model.on('comm_live_update', () => resolve()));
  const code = await Promise.race([load(model), loss]), spec = await unzip(model.get('spec')).json();
  clearTimeout(timer);
  busy.remove();
  if (!code) return el.append(absent);
  // A style in the element itself also works where a host draws widgets in a shadow root.
  el.append(Object.assign(document.createElement('style'), { textContent: code.css }));
  const { signal } = disposal;
  code.draw({ model, el, signal, spec, loss: code.watchKernel(model, el, signal, drawNotice) });
  return () => disposal.abort();
};

export default { render };
