"""A page with a look of its own, told in a linked sheet, in the page and in attributes."""

BRAND = """<!doctype html>
<html lang="en"><head>
<title>Hearth &amp; Co.</title>
<meta name="theme-color" content="#222222">
<meta property="og:site_name" content="Hearth &amp; Co.">
<meta property="og:image" content="/preview.jpg">
<link rel="icon" href="/icon-32.png" sizes="32x32">
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/brand-css">
<link rel="stylesheet" href="/missing-css">
<link rel="stylesheet" href="/print-css" media="print">
<style>a { color: #0055ff } @media (max-width: 600px) { body { background: red } }</style>
</head><body class="home">
<header class="top"><a href="/" class="logo"><img src="/hearth.svg" alt="Hearth"></a>
<nav><a href="/stoves">Stoves</a><button class="menu">Menu</button></nav></header>
<main>
<h1>Stoves that last</h1>
<p>We build <a href="/stoves">stoves</a> of cast iron, by hand, one at a time, in a small town.</p>
<a class="btn btn-primary" href="/shop">Shop now</a>
<a class="btn btn-ghost" href="/visit">Visit us</a>
<picture><source srcset="/stove-800.jpg 800w, /stove-1600.jpg 1600w"><img src="/stove.jpg">
</picture>
<div style="background-image: url('/texture.png')">Since 1890, each of our stoves has a name.</div>
</main></body></html>"""

BRAND_CSS = """
:root { --hearth-primary: #d9480f; --ink: #1f2933; --space: 8px }
body { font-family: "Source Serif 4", Georgia, serif; color: var(--ink); background: #fffaf5;
  font-size: 18px; line-height: 1.6; margin: 0 }
h1 { font: 700 3rem/1.1 Sora, sans-serif; margin: 16px 0 }
h1:hover { color: lime }
.btn { padding: 8px 24px; border-radius: 6px; color: white }
.btn-primary { background: var(--hearth-primary) }
main .btn-ghost { background-color: #334e68 }
.top { padding: calc(2 * var(--space)) 8px }
@media print { body { background: black } }
"""
