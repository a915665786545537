// What tests ask a page of JupyterLab or Notebook 7; window.jupyterapp is there because the server exposes it.
{
const outputs = cell => [...cell.node.querySelectorAll(".jp-OutputArea-output")];
const within = (promise, ms = 60000) => Promise.race([promise,
  new Promise((_, fail) => setTimeout(fail, ms, new Error(`nothing came within ${ms} ms`)))]);
window.probe = {
  panel() {
    const shown = window.jupyterapp?.shell.currentWidget;
    return shown?.context?.sessionContext ? shown : null;
  },
  kernel: () => probe.panel()?.sessionContext.session?.kernel,
  idle: () => probe.kernel()?.connectionStatus === "connected" && probe.kernel().status === "idle",
  async ready() {
    await probe.panel()?.context.ready;
    await probe.panel()?.sessionContext.ready;
    return Boolean(probe.panel()?.content.widgets.length);
  },
  command: async ([name, options]) => { await within(window.jupyterapp.commands.execute(name, options)); },
  cells() {
    const {widgets, activeCellIndex, mode} = probe.panel().content;
    const told = widgets.map(({model}, i) => (i === activeCellIndex ? ">" : "") + model.type
      + (model.type === "code" ? `[${model.executionCount ?? " "}]` : "") + `${model.sharedModel.source.length}`);
    return [...told, mode, ...(document.querySelector(".jp-Dialog") ? ["dialog"] : [])].join(" ");
  },
  output: i => outputs(probe.panel().content.widgets[i])
    .filter(output => !output.parentElement.closest(".jp-OutputArea-output"))
    .map(output => output.innerText.trim()).filter(Boolean).join("\n"),
  rewrite(sources) {
    sources.forEach((source, i) => probe.panel().content.widgets[i].model.sharedModel.setSource(source));
  },
  async show([i, expected, limit]) {
    const notebook = probe.panel().content, cell = notebook.widgets[i];
    const controls = () => new Set(outputs(cell).flatMap(output => [...output.querySelectorAll("input, select, textarea")])
      .filter(control => control.checkVisibility({visibilityProperty: true})));
    notebook.deselectAll();
    notebook.activeCellIndex = i;
    const old = controls(), start = performance.now();
    const ran = probe.command(["notebook:run-cell", {}]);
    let fresh, ms;
    do {
      await new Promise(requestAnimationFrame);
      fresh = [...controls()].filter(control => !old.has(control)).length;
      ms = performance.now() - start;
    } while (fresh < expected && ms < limit);
    await ran;
    return [fresh, ms];
  },
  async ask(code) {
    const future = probe.kernel().requestExecute({code, store_history: false}), told = [];
    future.onIOPub = ({header, content}) => {
      told.push(content.text ?? content.data?.["text/plain"] ?? "");
      if (header.msg_type === "error") told.push(`${content.ename}: ${content.evalue}`);
    };
    return [(await within(future.done)).content.status, told.join("")];
  },
  // Wears a theme's style sheet, as JupyterLab's command does, which also redraws the whole page and saves the setting.
  async theme([name, folder, isLight]) {
    const sheets = [...document.querySelectorAll('link[rel="stylesheet"][href*="/themes/"]')];
    let wanted = sheets.find(({href}) => href.includes(folder));
    if (!wanted) {
      wanted = Object.assign(document.createElement("link"), {rel: "stylesheet", href: sheets[0].href.replace(/@jupyterlab\/[^/]+/, folder)});
      const loaded = new Promise(done => wanted.onload = done);
      document.body.append(wanted);
      await within(loaded);
    }
    for (const sheet of [...sheets, wanted]) sheet.media = sheet === wanted ? "" : "not all";
    Object.assign(document.body.dataset, {jpThemeName: name, jpThemeLight: isLight});
  },
};
}
