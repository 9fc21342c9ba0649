// defuddle's markdown of the saved pages, on linkedom, as its README has it: `node defuddle.mjs DATA OUT`.
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { join } from "node:path";
import { createRequire } from "node:module";

const require = createRequire(new URL("../peers/", import.meta.url));
const { parseHTML } = require("linkedom");
// Its entry for Node.js is for `import` alone, which looks for packages beside this file.
const entry = new URL("../peers/node_modules/defuddle/dist/node.js", import.meta.url);
const { Defuddle } = (await import(entry)).default;

const [data, out] = process.argv.slice(2);
console.log = console.warn = console.error = () => {};
const lines = [];
let used = 0;
for (const dataset of ["wcxb", "aeb", "languages", "docs"]) {
  const truth = join(data, dataset, "truth.jsonl.gz");
  if (!existsSync(truth)) continue;
  for (const line of gunzipSync(readFileSync(truth)).toString().trim().split("\n")) {
    const { id, url } = JSON.parse(line);
    const html = gunzipSync(readFileSync(join(data, dataset, "html", `${id}.html.gz`))).toString();
    const before = process.cpuUsage();
    let text = "", title = "";
    try {
      const found = await Defuddle(parseHTML(html).document, url, { markdown: true });
      text = found.content ?? "";
      title = found.title ?? "";
    } catch {
      // A page that it cannot read scores zero.
    }
    const after = process.cpuUsage(before);
    used += (after.user + after.system) / 1e6;
    lines.push(JSON.stringify({ key: `${dataset}/${id}`, text, title }));
  }
}
lines.push(JSON.stringify({ cpu_seconds: used }));
writeFileSync(out, lines.join("\n"));
