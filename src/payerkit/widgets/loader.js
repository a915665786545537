// Gets the code of a widget from the kernel, unless the page has it already, and runs it. Without a kernel it says so.
// Each widget is sent with this loader only, so that ten forms of a page do not send their code ten times.
const PATIENCE = 1500; // ms until a widget asks for code that another one has asked for, or says that the kernel is busy
const codes = (globalThis.payerkitCodes ??= new Map());

const unpack = async (packed) => {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const url = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: 'text/javascript' }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
};

// Resolves with the code as a module.
const load = async (model) => {
  const id = model.get('code_id');
  let code = codes.get(id);
  if (!code) {
    code = {};
    code.module = new Promise((resolve) => { code.resolve = resolve; });
    codes.set(id, code);
  } else {
    // The other widget may belong to a notebook whose kernel is busy or dies.
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE));
    const module = await Promise.race([code.module, late]);
    if (module) return module;
  }
  const onMessage = (message, buffers) => message.code_id === id && code.resolve(unpack(buffers[0]));
  model.on('msg:custom', onMessage);
  model.send({ type: 'code' });
  const module = await code.module;
  model.off('msg:custom', onMessage);
  return module;
};

// Hosts mark an element that is drawn without a kernel.
const isCutOff = (el) => el.classList.contains('jupyter-widgets-disconnected');

// Draws a placeholder for a widget: its title, and why it is missing.
const drawAbsence = (model, text) => {
  const absence = document.createElement('div'), title = document.createElement('b'), reason = document.createElement('div');
  absence.style = `box-sizing: border-box; max-width: 860px; margin: 4px; padding: 8px 12px; border: 1px dashed; border-radius: 3px;
    color: var(--jp-ui-font-color2); font: var(--jp-ui-font-size1, 13px) / 1.4 var(--jp-ui-font-family, system-ui)`;
  title.textContent = model.get('label');
  reason.role = 'status';
  reason.textContent = text;
  absence.append(title, reason);
  return absence;
};

const render = async ({ model, el }) => {
  const disposal = new AbortController();
  const absent = drawAbsence(model, 'Not connected to a kernel, so it holds no values. Run the cell again.');
  const busy = drawAbsence(model, 'The kernel is busy. Wait, or interrupt it.');
  if (isCutOff(el)) {
    el.append(absent);
    return;
  }
  const timer = setTimeout(() => el.append(busy), PATIENCE);
  const stopWaiting = () => {
    clearTimeout(timer);
    busy.remove();
  };
  let isLost, isDrawn;
  model.on('comm_live_update', () => {
    isLost = true;
    stopWaiting();
    if (!isDrawn) el.append(absent);
  });
  const { css, draw, watchKernel } = await load(model);
  stopWaiting();
  if (isLost) return;
  isDrawn = true;
  // A style in the element itself also works where a host draws widgets in a shadow root.
  el.append(Object.assign(document.createElement('style'), { textContent: css }));
  const remove = draw({ model, el, loss: watchKernel(model, el, disposal.signal) });
  return () => {
    disposal.abort();
    remove();
  };
};

export default { render };
