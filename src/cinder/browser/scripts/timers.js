// Runs in the page's own world before its scripts: tells whether anything is due that may change it.
(question, soonMs) => {
  // Only what is kept here is used: a page may replace everything else.
  const { apply, construct, defineProperty } = Reflect;
  const clock = performance.now.bind(performance), refuse = Event.prototype.preventDefault;
  const FRAME_MS = 100, LATE_MS = 50, MAX_TIMERS = 1000;
  const due = { __proto__: null }, periods = { __proto__: null };
  let timers = 0, busyUntil = 0;

  const note = milliseconds => {
    const until = clock() + milliseconds;
    if (until > busyUntil) busyUntil = until;
  };
  const forget = id => {
    if (typeof id !== 'number' || !(id in due)) return;
    delete due[id];
    delete periods[id];
    timers -= 1;
  };
  const isOver = (id, now) => !periods[id] && due[id] < now - LATE_MS;
  const noteTimer = (id, delay, period) => {
    const now = clock();
    if (timers >= MAX_TIMERS) for (const other in due) if (isOver(other, now)) forget(+other);
    if (timers >= MAX_TIMERS || delay !== delay) return note(Infinity);
    if (!(id in due)) timers += 1;
    due[id] = now + delay;
    if (period) periods[id] = period;
  };
  const inMilliseconds = delay => {
    // An object may run the page's code to become a number.
    if (delay && typeof delay !== 'number' && typeof delay !== 'string') return NaN;
    return +delay > 0 ? +delay : 0;
  };
  const isAnyDue = () => {
    const now = clock();
    if (busyUntil > now) return true;
    for (const id in due) {
      const period = periods[id];
      if (isOver(id, now)) forget(+id);
      else if (!period ? due[id] < now + soonMs : period - (now - due[id]) % period < soonMs) return true;
    }
    return false;
  };

  const wrap = (owner, name, after) => {
    const own = owner && owner[name];
    if (typeof own !== 'function') return;
    const value = new Proxy(own, {
      apply(target, self, values) {
        const result = apply(target, self, values);
        after(values, result);
        return result;
      },
      construct(target, values, type) {
        after(values);
        return construct(target, values, type === value ? target : type);
      },
    });
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(owner, name);
    defineProperty(owner, name, { value, writable, enumerable, configurable });
  };
  wrap(window, 'setTimeout', (values, id) => noteTimer(id, inMilliseconds(values[1])));
  wrap(window, 'setInterval', (values, id) => noteTimer(id, 0, inMilliseconds(values[1]) || soonMs));
  wrap(window, 'clearTimeout', values => forget(values[0]));
  wrap(window, 'clearInterval', values => forget(values[0]));
  wrap(window, 'requestAnimationFrame', () => note(FRAME_MS));
  wrap(window, 'requestIdleCallback', () => note(FRAME_MS));
  const soon = () => note(soonMs), always = () => note(Infinity);
  // Work in other threads: when it ends is not known.
  wrap(window, 'Worker', always);
  wrap(window, 'SharedWorker', always);
  wrap(window.Scheduler && Scheduler.prototype, 'postTask', values => note(values[1] ? soonMs : FRAME_MS));
  wrap(AbortSignal, 'timeout', soon);
  wrap(IDBFactory.prototype, 'open', soon);
  for (const name of ['compile', 'instantiate', 'compileStreaming', 'instantiateStreaming'])
    wrap(window.WebAssembly, name, soon);
  // No answer counts as a yes: a page can make nothing of the question but a longer wait.
  addEventListener(question, event => { if (!isAnyDue()) apply(refuse, event, []) }, true);
}
