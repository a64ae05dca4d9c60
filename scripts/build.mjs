// Bundles src/ to dist/. `npm run build` always builds; `npm start` builds when a source has changed since.

import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { chmod } from "node:fs/promises"
import { basename, dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { bundlePlayground } from "./build-playground.mjs"
import { codePages } from "./diagnostics-page.mjs"
import { ensureInstalled, main, pinnedNode, root, run } from "./setup.mjs"

const watched = [
  "src",
  "playground",
  "examples",
  "scripts/build.mjs",
  "scripts/build-playground.mjs",
  "scripts/diagnostics-page.mjs",
  "docs/diagnostics.md",
  "scripts/undici-client.cjs",
  "scripts/prom-client.cjs",
  "package-lock.json",
  "tsconfig.client.json",
]

/**
 * Dependencies go into the bundle too: finding and reading hundreds of their files would take longer than all the rest of a
 * start.
 * @satisfies {import("esbuild").BuildOptions}
 */
const common = /** @type {const} */ ({
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  sourcemap: "linked",
  write: false,
  logLevel: "warning",
  // Names stay: stack traces are for people.
  minifyWhitespace: true,
  minifySyntax: true,
})

/**
 * Packages that the bundle contains a part of.
 * @type {import("esbuild").Plugin}
 */
const partsOfPackages = {
  name: "parts-of-packages",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^(undici|prom-client)$/ }, ({ path }) => ({
      path: join(root, "scripts", path === "undici" ? "undici-client.cjs" : "prom-client.cjs"),
    }))
    // Schemas are compiled by a part of our own.
    bundling.onResolve({ filter: /^@fastify\/(ajv|fast-json-stringify)-compiler$/ }, ({ path }) => ({
      path,
      namespace: "empty",
    }))
  },
}

/**
 * The service is a bundle of its own, which the command imports by its name.
 * @type {import("esbuild").Plugin}
 */
const serviceApart = {
  name: "service-apart",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^\.\.\/compose\/service\.ts$/ }, ({ kind }) =>
      kind === "entry-point" ? undefined : { path: "./service.js", external: true },
    )
  },
}

/** What every start of the service loads: first what opens the store, whose thread starts while the rest is being read. */
const first = sources("src/cli/compose/service.ts", "src/cli/compose/open-store.ts")
const always = [...first, ...sources("src/cli/compose/compose.ts")]
/** What the parent of several processes loads besides: it serves nothing itself. */
const ofParent = sources(
  "src/cli/compose/processes/serve-together.ts",
  "src/cli/compose/processes/supervise-processes.ts",
)

/** @param {readonly string[]} files */
function sources(...files) {
  return files.map((file) => join(root, file))
}

/**
 * esbuild puts modules into one file when the same entry points reach them, and what is imported late is an entry point: a start
 * would load some 80 small files. So each of those also imports all that is loaded at a start, which then is two files.
 * @type {import("esbuild").Plugin}
 */
const fewFiles = {
  name: "few-files",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^\.\.?\// }, async ({ path, kind, importer, resolveDir }) => {
      if (kind !== "dynamic-import" || importer.includes("/node_modules/")) return undefined
      return { path: resolve(resolveDir, path), namespace: "late" }
    })
    bundling.onLoad({ filter: /./, namespace: "late" }, ({ path }) => {
      const loaded = first.includes(path) || ofParent.includes(path) ? first : always
      const imports = loaded.map((file) => `import ${JSON.stringify(file)}`)
      return { contents: [...imports, `export * from ${JSON.stringify(path)}`].join("\n"), resolveDir: root }
    })
  },
}

const heavyImports = new Set(["node:http", "node:crypto", "node:fs"])

/**
 * Importing a module of Node's reads each of its exports, and some of those load much more: those of `node:http` all of `fetch`.
 * So these modules are required, and what they load only when asked for is not exported. What dependencies require and
 * then do not use is empty: HTTP/2 of Fastify and undici (which do without where Node has none), processes of Commander.
 * @type {import("esbuild").Plugin}
 */
const lightBuiltins = {
  name: "light-builtins",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^node:/ }, ({ path, kind, importer }) => {
      if (path === "node:http2" || (path === "node:child_process" && importer.includes("/commander/"))) {
        return { path, namespace: "empty" }
      }
      const light = kind === "import-statement" && heavyImports.has(path)
      return light ? { path, namespace: "required" } : { path, external: true }
    })
    bundling.onLoad({ filter: /./, namespace: "empty" }, () => ({ contents: "module.exports = { constants: {} }" }))
    bundling.onLoad({ filter: /./, namespace: "required" }, ({ path }) => {
      const names = exportsOf(path).join(", ")
      return { contents: `const all = require("${path}"); export default all; export const { ${names} } = all` }
    })
  },
}

/** What a module of Node's exports without loading more, in the Node that the bundle is for: the one that builds may be older. */
function exportsOf(/** @type {string} */ path) {
  const code = `JSON.stringify(Object.entries(Object.getOwnPropertyDescriptors(require("${path}")))
    .flatMap(([name, property]) => ("value" in property && name !== "default" ? name : [])))`
  return /** @type {string[]} */ (JSON.parse(execFileSync(pinnedNode("product"), ["-p", code], { encoding: "utf8" })))
}

const parts = [partsOfPackages, lightBuiltins]

/** @param {string} outdir */
function optionsForNode(outdir) {
  return /** @type {const} */ ({
    ...common,
    outdir,
    platform: "node",
    target: "node22.13",
    // Stack traces need no more than positions.
    sourcesContent: false,
    // Names with accents in them, else, would make Node keep the whole text with two bytes a character.
    legalComments: "external",
    // Dependencies that are CommonJS ask for Node's own modules in their way.
    banner: {
      js: 'import { createRequire as toRequire } from "node:module"; const require = toRequire(import.meta.url);',
    },
  })
}

/**
 * Programs of the tests, bundled as the service is: one that is started a hundred times need not find and read its sources each time.
 * @param {Readonly<Record<string, string>>} entryPoints
 * @param {string} outdir
 */
export async function bundlePrograms(entryPoints, outdir) {
  const { build: bundle, stop } = await import("esbuild")
  await bundle({ ...optionsForNode(outdir), entryPoints, splitting: true, plugins: parts, write: true })
  await stop()
}

/** Bundles to `outdir`. Files are replaced one by one, the entry last, so that no moment has an entry without its parts. */
export async function build(outdir = join(root, "dist")) {
  const stamp = sourceStamp()
  const { build: bundle, stop } = await import("esbuild")
  const forNode = optionsForNode(outdir)
  const bundles = [
    await bundle({
      ...forNode,
      entryPoints: { wire: "src/cli/wire.ts" },
      splitting: true,
      plugins: [serviceApart, ...parts],
    }),
    await bundle({
      ...forNode,
      entryPoints: { service: "src/cli/compose/service.ts" },
      splitting: true,
      plugins: [fewFiles, ...parts],
    }),
    // The threads that the SQLite store, the compiler and the sandbox for code start by their file names: one file each.
    await bundle({
      ...forNode,
      entryPoints: {
        "writer-thread": "src/adapters/sqlite/writer-thread.ts",
        "source-thread": "src/compiler/source-thread.ts",
        "code-thread": "src/adapters/code/code-thread.ts",
      },
      plugins: parts,
    }),
  ]
  // Both bundles contain parts that are the same.
  const command = new Map(bundles.flatMap(({ outputFiles }) => outputFiles.map((file) => [file.path, file]))).values()
  const { outputFiles: client } = await bundleClient(bundle, outdir)
  const page = await bundlePlayground(bundle, join(outdir, "playground"))
  // Else its helper process would live as long as the service.
  await stop()
  mkdirSync(outdir, { recursive: true })
  const entry = join(outdir, "wire.js")
  const codes = [...codePages()].map(([code, text]) => ({ path: join(outdir, "codes", `${code}.md`), contents: text }))
  const wasm = readFileSync(join(root, "node_modules", "quickjs-wasi", "quickjs.wasm"))
  const sandbox = { path: join(outdir, "quickjs.wasm"), contents: wasm }
  const files = [...command, ...client, ...page, ...codes, sandbox].toSorted(
    (a, b) => Number(a.path === entry) - Number(b.path === entry),
  )
  for (const { path, contents } of files) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.new`, contents)
    if (path === entry) await chmod(`${path}.new`, 0o755)
    renameSync(`${path}.new`, path)
  }
  rmSync(join(outdir, ".compiled"), { recursive: true, force: true })
  removeOlder(outdir, files)
  writeFileSync(join(outdir, ".stamp"), stamp)
}

/** What the package has: the types of its client, too. @param {string} outdir */
export async function buildCommand(outdir) {
  await build(outdir)
  await writeDeclarations(join(outdir, "types"))
}

/**
 * What users import, in browsers too.
 * @param {typeof import("esbuild").build} bundle
 * @param {string} outdir
 */
function bundleClient(bundle, outdir) {
  const entryPoints = { client: "src/client/client.ts" }
  return bundle({ ...common, entryPoints, outdir, platform: "neutral", target: "es2022" })
}

/** The client for a package of its own, `packages/client`. @param {string} outdir */
export async function buildClient(outdir) {
  const { build: bundle, stop } = await import("esbuild")
  const { outputFiles } = await bundleClient(bundle, outdir)
  await stop()
  mkdirSync(outdir, { recursive: true })
  for (const { path, contents } of outputFiles) writeFileSync(path, contents)
  await writeDeclarations(join(outdir, "types"))
}

/**
 * The types of `wireworks/client`. The compiler leaves the sources' endings in their imports.
 * @param {string} outdir
 */
async function writeDeclarations(outdir) {
  rmSync(outdir, { recursive: true, force: true })
  const { code } = await run(
    join(root, "node_modules", ".bin", "tsc"),
    ["-p", "tsconfig.client.json", "--outDir", outdir],
    {
      cwd: root,
    },
  )
  if (code !== 0) throw new Error("The declarations of the client could not be written.")
  for (const file of filesUnder(outdir)) {
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(/(from ")(\.[^"]*)\.ts"/g, '$1$2.js"'))
  }
}

/** A service that was started from one of so many earlier builds still finds the parts that it imports late. */
const earlierBuilds = 3

/**
 * Deletes what older builds left. The parts of the builds before this one stay: each has a hash of its content in its name.
 * @param {string} outdir
 * @param {readonly { path: string }[]} fresh
 */
export function removeOlder(outdir, fresh) {
  const list = join(outdir, ".builds")
  /** @type {string[][]} */
  const earlier = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : []
  const own = fresh.map(({ path }) => basename(path))
  const parts = own.filter((name) => !name.endsWith(".map")).toSorted()
  writeFileSync(list, JSON.stringify([parts, ...earlier].slice(0, earlierBuilds + 1)))
  const kept = new Set([...own, ...earlier.slice(0, earlierBuilds).flat()])
  const places = [
    { folder: outdir, ours: /\.js(\.map|\.LEGAL\.txt)?(\.new)?$/ },
    { folder: join(outdir, "playground"), ours: /./ },
    { folder: join(outdir, "codes"), ours: /./ },
  ]
  for (const { folder, ours } of places.filter((place) => existsSync(place.folder))) {
    for (const file of readdirSync(folder)) if (ours.test(file) && !kept.has(file)) rmSync(join(folder, file))
  }
}

/** Whether dist/ is missing or was built from other sources than those that are here now. */
export function isStale() {
  const stamp = join(root, "dist", ".stamp")
  return !existsSync(stamp) || readFileSync(stamp, "utf8") !== sourceStamp()
}

/** A hash over names, sizes and times of all that goes into the build: a changed, new or deleted file changes it. */
export function sourceStamp(more = /** @type {readonly string[]} */ ([])) {
  const hash = createHash("sha256")
  for (const top of [...watched, ...more]) {
    const path = join(root, top)
    if (existsSync(path)) for (const file of filesUnder(path)) addFile(hash, file)
  }
  return hash.digest("hex")
}

/** @param {import("node:crypto").Hash} hash @param {string} file */
function addFile(hash, file) {
  const { size, mtimeMs } = statSync(file)
  hash.update(`${relative(root, file)}\n${size}\n${mtimeMs}\n`)
}

/** @param {string} path @returns {string[]} */
function filesUnder(path) {
  if (statSync(path).isFile()) return [path]
  const entries = readdirSync(path, { withFileTypes: true }).filter(({ name }) => name !== "node_modules")
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    const child = join(path, entry.name)
    if (entry.isDirectory()) return filesUnder(child)
    return entry.isFile() && !/\.test\.tsx?$/.test(entry.name) ? [child] : []
  })
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main(async () => {
    await ensureInstalled("product")
    const [, , what] = process.argv
    await build(what === undefined ? undefined : resolve(what))
    return 0
  })
}
