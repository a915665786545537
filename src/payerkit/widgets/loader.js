// Gets the code of a widget from the kernel, unless the page has it already, and runs it.
// Each widget is sent with this loader only, so that ten forms of a page do not send their code ten times.
// It also says what no code can: that there is no kernel, that the kernel is busy, or that it is gone.
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

// Aborts `loss` when the kernel is gone, with what happened to it. JupyterLab tells models of a restart only.
const watchKernel = (model, loss, end) => {
  const session = model.widget_manager?.context?.sessionContext, kernel = session?.session?.kernel?.id;
  const check = () => {
    const now = session?.session?.kernel;
    if (kernel && !now) loss.abort('shut down');
    else if (now?.id !== kernel || ['restarting', 'autorestarting', 'dead'].includes(now?.status)) loss.abort();
  };
  model.on('comm_live_update', () => loss.abort());
  for (const change of [session?.statusChanged, session?.kernelChanged]) {
    change?.connect(check);
    end.addEventListener('abort', () => change?.disconnect(check));
  }
};

// What was typed can still be read and copied.
const disable = (el) => {
  for (const control of el.querySelectorAll('input, select, textarea, button')) {
    if (control.matches('textarea, input:not([type="checkbox"], [type="radio"])')) control.readOnly = true;
    else control.disabled = true;
  }
};

const box = (style) => Object.assign(document.createElement('div'), {
  style: `box-sizing: border-box; max-width: 860px; padding: 8px 12px; margin: 4px; border-radius: 3px;
    color: var(--jp-ui-font-color1); font: var(--jp-ui-font-size1, 13px) / 1.4 var(--jp-ui-font-family, system-ui, sans-serif); ` + style,
});

// What stands where a widget cannot be: its title, and why.
const drawAbsence = (model, text) => {
  const title = document.createElement('b'), reason = document.createElement('div');
  title.textContent = model.get('label');
  reason.role = 'status';
  reason.textContent = text;
  const absence = box('border: 1px dashed var(--jp-border-color0, #8d8d8d); color: var(--jp-ui-font-color2)');
  absence.append(title, reason);
  return absence;
};

const render = async ({ model, el, signal }) => {
  if (isCutOff(el)) {
    el.append(drawAbsence(model, 'Not connected to a kernel, so it holds no values. Run the cell again.'));
    return;
  }
  const loss = new AbortController(), end = new AbortController();
  const busy = drawAbsence(model, 'The kernel is busy. Wait, or interrupt it.');
  const waiting = setTimeout(() => el.append(busy), PATIENCE);
  const stopWaiting = () => {
    clearTimeout(waiting);
    busy.remove();
  };
  loss.signal.addEventListener('abort', () => {
    stopWaiting();
    const banner = box('border-left: 4px solid var(--jp-error-color1, #d32f2f); background: var(--jp-layout-color2, #eee)');
    banner.role = 'alert';
    const happened = loss.signal.reason === 'shut down' ? 'shut down' : 'restarted';
    banner.textContent = `The kernel was ${happened}, so the values are gone. Run the cell again.`;
    el.prepend(banner);
    disable(el);
  });
  signal?.addEventListener('abort', () => end.abort());
  watchKernel(model, loss, end.signal);
  const { css, draw } = await load(model);
  stopWaiting();
  if (loss.signal.aborted) return;
  // A style in the element itself also works where a host draws widgets in a shadow root.
  el.append(Object.assign(document.createElement('style'), { textContent: css }));
  const remove = draw({ model, el, loss });
  return () => {
    end.abort();
    remove();
  };
};

export default { render };
