// Tells a widget, and whoever looks at it, when its kernel is gone.
const isText = (control) => control.matches('textarea, input:not([type="checkbox"], [type="radio"])');

// Text that was typed can still be read and copied.
const disable = (el) => {
  for (const control of el.querySelectorAll('input, select, textarea, button')) control[isText(control) ? 'readOnly' : 'disabled'] = true;
};

const showLoss = (el, happened) => {
  const banner = document.createElement('div');
  banner.role = 'alert';
  banner.style = `box-sizing: border-box; max-width: 860px; margin: 4px; padding: 8px 12px; border-left: 4px solid var(--jp-error-color1, #d32f2f);
    color: var(--jp-ui-font-color1); background: var(--jp-layout-color2, #eee); font: var(--jp-ui-font-size1, 13px) / 1.4 var(--jp-ui-font-family, system-ui)`;
  banner.textContent = `The kernel was ${happened}, so the values are gone. Run the cell again.`;
  el.prepend(banner);
  disable(el);
};

// Returns an AbortController that aborts when the kernel is gone, with what happened to it as the reason. JupyterLab
// tells models only of a restart that somebody asked for; its session, where there is one, knows the rest.
const watchKernel = (model, el, signal) => {
  const loss = new AbortController();
  const session = model.widget_manager?.context?.sessionContext, kernel = session?.session?.kernel?.id;
  const check = () => {
    const now = session.session?.kernel;
    if (!now) loss.abort('shut down');
    else if (now.id !== kernel || ['restarting', 'autorestarting', 'dead'].includes(now.status)) loss.abort('restarted');
  };
  loss.signal.addEventListener('abort', () => showLoss(el, loss.signal.reason));
  model.on('comm_live_update', () => loss.abort('restarted'));
  for (const change of kernel ? [session.statusChanged, session.kernelChanged] : []) {
    change.connect(check);
    signal.addEventListener('abort', () => change.disconnect(check));
  }
  return loss;
};
