// Bundle the explorer and the licences of its parts into the Python package, so users need no Node.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const PARTS = ["sigma", "graphology", "graphology-utils", "events"];
const target = "../src/hiergcn/report/static/explorer.js";

const licences = PARTS.map((name) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  const file = name === "events" ? "LICENSE" : "LICENSE.txt";
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/${file}`, "utf8").trim()}`;
}).join("\n\n----\n\n");

const bundle = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  write: false,
});
// The script is inlined in the page: nothing in it may look like the end of a script element.
const code = bundle.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
writeFileSync(target, `/*!\nThis script contains, besides hiergcn's own code (MIT):\n\n${licences}\n*/\n${code}`);
