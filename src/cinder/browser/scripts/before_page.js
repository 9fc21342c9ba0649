// Runs in the page's own world before its scripts: a service worker would outlive the page.
(() => {
  if (!('serviceWorker' in navigator)) return;
  const refuse = () => Promise.reject(new DOMException('The operation is insecure.', 'SecurityError'));
  Object.defineProperty(ServiceWorkerContainer.prototype, 'register', {
    value: refuse, writable: true, configurable: true, enumerable: true,
  });
})()
