// Asks the kernel on behalf of a widget that replies to messages. Of each type of message only the reply to the latest
// request counts. handle(message, isOwn): takes a message; isOwn: it is what this page asked for last, or shows at first.
// waiting: says why a type of message may take long. Returns the status line, `say`, `ask`, and what `mount` takes.
const openChannel = ({ model, signal, loss, page }, handle, waiting = {}) => {
  const latest = {}, status = create('div', { class: 'status', role: 'status' });
  let request = 0, timer;
  const say = (text, kind = 'help') => Object.assign(status, { className: 'status ' + kind, textContent: text });
  const ask = (message) => {
    if (signal.aborted) return;
    clearTimeout(timer);
    timer = setTimeout(() => say(waiting[message.type] ?? 'The kernel has not replied yet. It may be busy with another cell.'), 2000);
    latest[message.type] = ++request;
    sendTo(model, loss, { ...message, page, request });
  };
  const take = (message, isOwn) => {
    if (isOwn) clearTimeout(timer);
    if (isOwn && message.error) say(message.error, 'error');
    handle(message, isOwn);
  };
  const takeFirst = (message) => take(message, true);
  const receive = (message) => take(message, message.page === page && message.request === latest[message.type]);
  for (const each of [signal, loss.signal]) each.addEventListener('abort', () => clearTimeout(timer));
  return { status, say, ask, takeFirst, receive };
};
