"""The browser runtime: Chromium processes in pools, driven over their DevTools pipes."""
