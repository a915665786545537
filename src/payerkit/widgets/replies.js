// Asks the kernel on behalf of a widget that replies to messages. Of each type of message only the reply to the latest
// request counts. handle(message, isOwn): takes a message; isOwn: it is the reply to the latest request of this page.
// waiting: says why a type of message may take long. Returns the status line, `say`, `ask`, and the parameters of `mount`.
const openChannel = ({ model, signal, loss }, handle, waiting = {}) => {
  const page = newId('p'), latest = {}, status = create('div', { class: 'status', role: 'status' });
  let request = 0, timer;
  const say = (text, kind = 'help') => Object.assign(status, { className: 'status ' + kind, textContent: text });
  const ask = (message) => {
    if (signal.aborted) return;
    clearTimeout(timer);
    timer = setTimeout(() => say(waiting[message.type] ?? 'The kernel has not replied yet. It may be busy with another cell.'), 2000);
    latest[message.type] = ++request;
    sendTo(model, loss, { ...message, page, request });
  };
  const receive = (message) => {
    const isOwn = message.page === page && message.request === latest[message.type];
    if (isOwn) clearTimeout(timer);
    if (isOwn && message.error) say(message.error, 'error');
    handle(message, isOwn);
  };
  for (const each of [signal, loss.signal]) each.addEventListener('abort', () => clearTimeout(timer));
  return { page, status, say, ask, receive };
};
