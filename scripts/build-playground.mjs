// Bundles playground/ to a script, those that it needs at first and those that are loaded later, the script of its worker, a style
// sheet, the page that names them and that of the diagnostics, each also compressed.

import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { diagnosticsPage } from "./diagnostics-page.mjs"
import { root } from "./setup.mjs"

/**
 * The playground's files, not yet written. Names carry a hash of the content, so that they may be kept forever.
 * @param {typeof import("esbuild").build} bundle
 * @param {string} outdir
 * @returns {Promise<{ path: string, contents: Uint8Array }[]>}
 */
export async function bundlePlayground(bundle, outdir) {
  const { outputFiles, metafile } = await bundle({
    absWorkingDir: root,
    entryPoints: {
      app: "playground/main.tsx",
      console: "playground/console/main.tsx",
      language: "playground/language/worker.ts",
    },
    outdir,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    splitting: true,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome123", "firefox125", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".wire": "text" },
    sourcemap: "linked",
    metafile: true,
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
    logLevel: "warning",
  })
  const files = outputFiles.map(({ path, contents }) => ({ path, contents }))
  const named = (/** @type {string} */ extension, entry = "app") => {
    const file = files.find(({ path }) => basename(path).startsWith(`${entry}-`) && path.endsWith(extension))
    if (file === undefined) throw new Error(`The playground's bundle has no ${extension} file of ${entry}`)
    return basename(file.path)
  }
  for (const [file, entry, folder] of /** @type {const} */ ([
    ["index.html", "app", "playground"],
    ["console.html", "console", "../playground"],
  ])) {
    const page = readFileSync(join(root, "playground", file), "utf8")
      .replace("app.css", named(".css", entry))
      .replace("app.js", named(".js", entry))
      .replace("language.js", named(".js", "language"))
      .replace("  </head>", `${preloads(metafile, named(".js", entry), folder)}  </head>`)
    files.push({ path: join(outdir, file), contents: Buffer.from(page) })
  }
  files.push({ path: join(outdir, "diagnostics.html"), contents: Buffer.from(diagnosticsPage(named(".css"))) })
  const served = files.filter(({ path }) => !path.endsWith(".map"))
  return [...files, ...(await Promise.all(served.map(compressed))).flat()]
}

/**
 * Links to the scripts that a script imports, so that a browser need not read it to know them.
 * @param {import("esbuild").Metafile} metafile
 * @param {string} script
 * @param {string} folder of the scripts, as the page names it
 */
function preloads({ outputs }, script, folder) {
  const found = new Set()
  const walk = (/** @type {string} */ name) => {
    const [, output] = Object.entries(outputs).find(([path]) => basename(path) === name) ?? []
    for (const { path, kind } of output?.imports ?? []) {
      const imported = basename(path)
      if (kind !== "import-statement" || found.has(imported)) continue
      found.add(imported)
      walk(imported)
    }
  }
  walk(script)
  return [...found].map((name) => `    <link rel="modulepreload" href="${folder}/${name}" />\n`).join("")
}

/**
 * As small as it gets: it is made once, and sent with each first visit.
 * @param {{ path: string, contents: Uint8Array }} file
 */
async function compressed({ path, contents }) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length }
  return [
    { path: `${path}.br`, contents: await promisify(brotliCompress)(contents, { params }) },
    { path: `${path}.gz`, contents: await promisify(gzip)(contents, { level: 9 }) },
  ]
}
