// Hides the marks by which scripts tell a headless browser from one that a person looks at.
(() => {
  const define = (target, name, get) =>
    Object.defineProperty(target, name, { get, configurable: true, enumerable: true });
  if (navigator.webdriver) define(Navigator.prototype, 'webdriver', () => false);
  if (!window.chrome) {
    window.chrome = { app: { isInstalled: false }, runtime: {}, csi: () => ({}), loadTimes: () => ({}) };
  }
  if (navigator.plugins.length === 0) {
    const names = ['PDF Viewer', 'Chrome PDF Viewer', 'Chromium PDF Viewer'];
    const plugins = names.map(name => Object.create(Plugin.prototype, {
      name: { value: name }, filename: { value: 'internal-pdf-viewer' },
      description: { value: 'Portable Document Format' }, length: { value: 1 },
    }));
    const list = Object.create(PluginArray.prototype, {
      length: { value: plugins.length },
      item: { value: index => plugins[index] || null },
      namedItem: { value: name => plugins.find(plugin => plugin.name === name) || null },
      [Symbol.iterator]: { value: () => plugins[Symbol.iterator]() },
    });
    plugins.forEach((plugin, index) => Object.defineProperty(list, index, { value: plugin, enumerable: true }));
    define(Navigator.prototype, 'plugins', () => list);
    define(Navigator.prototype, 'pdfViewerEnabled', () => true);
  }
  if (window.outerWidth === 0 || window.outerHeight === 0) {
    define(window, 'outerWidth', () => window.innerWidth);
    define(window, 'outerHeight', () => window.innerHeight + 85);
  }
  if (window.Notification && Notification.permission === 'denied' && navigator.permissions) {
    const query = navigator.permissions.query;
    Permissions.prototype.query = function (parameters) {
      return parameters && parameters.name === 'notifications'
        ? Promise.resolve({ state: 'prompt', onchange: null })
        : query.call(this, parameters);
    };
    define(Notification, 'permission', () => 'default');
  }
  const vendors = { 37445: 'Google Inc. (Intel)', 37446: 'ANGLE (Intel, Mesa Intel(R) UHD Graphics 620 (KBL GT2), OpenGL 4.6)' };
  for (const name of ['WebGLRenderingContext', 'WebGL2RenderingContext']) {
    const type = window[name];
    if (!type) continue;
    const read = type.prototype.getParameter;
    type.prototype.getParameter = function (parameter) {
      return vendors[parameter] || read.call(this, parameter);
    };
  }
})()
