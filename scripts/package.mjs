// `npm run package [-- FOLDER]`: builds the command and the client, and packs each as a tarball that npm installs:
// wireworks-VERSION.tgz and wireworks-client-VERSION.tgz, in FOLDER or here. A plain `npm pack` would not build: `.npmrc` keeps npm
// from running scripts, `prepack` included. It builds in a folder of its own, because a service may run from dist/.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, posix, relative, resolve } from "node:path"
import { repositoryFields } from "./repository.mjs"
import { ensureInstalled, main, root, run } from "./setup.mjs"

await main(async () => {
  await ensureInstalled("everything")
  const { buildClient, buildCommand } = await import("./build.mjs")
  const destination = resolve(process.argv[2] ?? ".")
  mkdirSync(destination, { recursive: true })
  const stage = mkdtempSync(join(tmpdir(), "wireworks-package-"))
  try {
    for (const [name, source, buildTo] of /** @type {const} */ ([
      ["command", join(root, "packages", "command"), buildCommand],
      ["client", join(root, "packages", "client"), buildClient],
    ])) {
      const folder = join(stage, name)
      copyFiles(source, folder)
      forRegistry(source, folder)
      await buildTo(join(folder, "dist"))
      const { code } = await run("npm", ["pack", "--silent", "--pack-destination", destination], { cwd: folder })
      if (code !== 0) return code
    }
  } finally {
    rmSync(stage, { recursive: true })
  }
  return 0
})

/**
 * What the package has besides its build.
 * @param {string} source
 * @param {string} folder
 */
function copyFiles(source, folder) {
  mkdirSync(folder)
  /** @type {{ files: string[] }} */
  const { files } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"))
  for (const name of ["package.json", ...files]) {
    if (name.startsWith("!") || name === "dist") continue
    // The command has the project's own docs, examples and README.
    const from = [source, root].map((at) => join(at, name)).find((path) => existsSync(path))
    if (from === undefined) throw new Error(`package.json names ${name}, which is not there`)
    cpSync(from, join(folder, name), { recursive: true })
  }
}

/**
 * A registry's page shows the README alone: its links lead to the repository that a release is made from, else to the files of the package `wireworks`. npm
 * proves where a package comes from only if its manifest names that repository.
 * @param {string} source
 * @param {string} folder
 */
function forRegistry(source, folder) {
  const manifestPath = join(folder, "package.json")
  const manifest = JSON.parse(readFileSync(manifestPath, "utf8"))
  const directory = relative(root, source).replaceAll("\\", "/")
  const fields = repositoryFields(directory)
  const base =
    fields === undefined
      ? `https://unpkg.com/wireworks@${manifest.version}`
      : `${fields.homepage.replace(/#readme$/, "")}/blob/v${manifest.version}`
  if (fields !== undefined) {
    Object.assign(manifest, fields)
    writeFileSync(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`)
  }
  const readme = join(folder, "README.md")
  // The command's README is the project's own, and stands at its root.
  const from = existsSync(join(source, "README.md")) ? directory : "."
  const text = readFileSync(readme, "utf8").replaceAll(/\]\((?![a-z]+:|#)([^)]+)\)/g, (_, path) => {
    return `](${base}/${posix.normalize(posix.join(from, path))})`
  })
  writeFileSync(readme, text)
}
