// Bundle the scripts of the pages into the Python package, so users need no Node.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";

const folder = "../src/hiergcn/reports/static";

async function bundle(entry, name) {
  const built = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2020",
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  // The script is inlined in the page: nothing in it may look like the end of a script element.
  const code = built.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  writeFileSync(`${folder}/${name}.js`, code);
}

await bundle("src/every_page.ts", "page");
await bundle("src/main.ts", "explorer");
