// Gets the code of a widget from the kernel, unless the page has it already, and runs it.
// Each widget is sent with this loader only, so that ten forms of a page do not send their code ten times.
const PATIENCE = 1500; // ms until a widget asks for code that another one has asked for, or says that no kernel responds
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

// Resolves with the code as a module. Without a kernel it never does.
const load = async (model) => {
  const id = model.get('code_id');
  let code = codes.get(id);
  if (!code) {
    code = {};
    code.module = new Promise((resolve) => { code.resolve = resolve; });
    codes.set(id, code);
  } else {
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

const render = async ({ model, el }) => {
  const wait = Object.assign(document.createElement('div'), { role: 'status' });
  el.append(wait);
  const timer = setTimeout(() => { wait.textContent = 'No kernel responds. Run the cell again.'; }, PATIENCE);
  const { css, draw } = await load(model);
  clearTimeout(timer);
  wait.remove();
  // A style in the element itself also works where a host draws widgets in a shadow root.
  el.append(Object.assign(document.createElement('style'), { textContent: css }));
  return draw({ model, el });
};

export default { render };
