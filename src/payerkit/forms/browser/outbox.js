// Sends the messages of a form to Python, each with the fields that were left since the last one. `address` is part of
// each message.
const openOutbox = (model, address, loss) => {
  // touched: the new values of these fields, or null if unchanged. taken: those whose text stands for a code.
  let touched = {}, taken = [], timer, isHeld = false;

  const send = (message) => {
    clearTimeout(timer);
    if (loss.signal.aborted) return;
    try {
      model.send({ ...message, ...address, touched, taken });
      [touched, taken] = [{}, []];
    } catch {
      loss.abort('restarted');
    }
  };
  const sendChange = () => send({ type: 'change' });
  const queue = (name, value, isTaken) => {
    touched[name] = value;
    taken = taken.filter((other) => other !== name).concat(isTaken ? name : []);
    clearTimeout(timer);
    if (!isHeld) timer = setTimeout(sendChange);
  };
  // A field that is left by pressing a button is held, to be sent together with the action of the button.
  const hold = () => { isHeld = true; };
  const release = () => {
    isHeld = false;
    if (Object.keys(touched).length) sendChange();
  };
  return { send, queue, hold, release };
};
