// Waits until nothing in the page changes, and nothing is due that may change it; tells whether so.
(question, quietMs, limitMs) => new Promise(done => {
  const start = performance.now();
  let changed = start;
  const watch = new MutationObserver(() => { changed = performance.now() });
  watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  const isAtRest = page => !page.dispatchEvent(new Event(question, { cancelable: true }));
  const isAllAtRest = page => {
    if (!isAtRest(page)) return false;
    for (const frame of page.querySelectorAll('iframe, frame, object, embed'))
      if (!frame.contentDocument || !isAllAtRest(frame.contentDocument)) return false;
    return !page.querySelector('meta[http-equiv=refresh i]')
      && !page.getAnimations().some(animation => animation.playState === 'running');
  };
  const end = isQuiet => { watch.disconnect(); done(isQuiet) };
  const look = () => {
    const now = performance.now(), left = changed + quietMs - now;
    if (left > 0) setTimeout(look, left);
    else if (isAllAtRest(document)) end(true);
    else if (now - start > limitMs) end(false);
    else setTimeout(look, quietMs / 2);
  };
  setTimeout(look, quietMs);
})
