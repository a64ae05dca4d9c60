// `npm run build:vscode`: packs the extension for VS Code to dist/wire-VERSION.vsix, without the network. A .vsix is a zip
// with the extension in a folder and two manifests beside it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, extname, join, relative } from "node:path"
import { codePages } from "./diagnostics-page.mjs"
import { repositoryFields } from "./repository.mjs"
import { main, root } from "./setup.mjs"
import { zip } from "./zip.mjs"

const home = join(root, "editors/vscode")

/** The bytes of the package. */
export async function buildExtension() {
  const { build: bundle, stop } = await import("esbuild")
  const common = /** @type {const} */ ({
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    // What the oldest editor that the manifest allows runs on.
    target: "node20",
    minify: true,
    legalComments: "none",
    write: false,
    logLevel: "warning",
  })
  const extension = await bundle({
    ...common,
    entryPoints: [join(home, "src/extension.ts")],
    format: "cjs",
    external: ["vscode"],
  })
  const server = await bundle({ ...common, entryPoints: [join(home, "src/server.ts")], format: "esm" })
  await stop()
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"))
  const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version
  const packed = { ...manifest, version, ...repositoryFields("editors/vscode") }
  const files = [
    { path: "extension/package.json", content: text(`${JSON.stringify(packed, null, 2)}\n`) },
    { path: "extension/extension.cjs", content: only(extension.outputFiles) },
    { path: "extension/server.mjs", content: only(server.outputFiles) },
    copied("README.md"),
    copied("language-configuration.json"),
    copied("syntaxes/wire.tmLanguage.json"),
    ...[...codePages()].map(([code, page]) => ({ path: `extension/codes/${code}.md`, content: text(page) })),
    { path: "extension/LICENSE.txt", content: readFileSync(join(root, "LICENSE")) },
  ]
  return {
    name: `wire-${version}.vsix`,
    bytes: zip([
      { path: "extension.vsixmanifest", content: text(vsixManifest(packed)) },
      { path: "[Content_Types].xml", content: text(contentTypes(files.map(({ path }) => path))) },
      ...files,
    ]),
  }
}

/** @param {string} path */
function copied(path) {
  return { path: `extension/${path}`, content: readFileSync(join(home, path)) }
}

/** @param {string} content */
function text(content) {
  return Buffer.from(content, "utf8")
}

/** @param {readonly { readonly contents: Uint8Array }[]} outputs */
function only(outputs) {
  const [output] = outputs
  if (output === undefined || outputs.length !== 1) throw new Error(`${outputs.length} files instead of one`)
  return output.contents
}

/** @param {string} value */
function escaped(value) {
  return value.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** @param {{ name: string, displayName: string, description: string, version: string, publisher: string, keywords: string[], categories: string[], engines: { vscode: string } }} manifest */
function vsixManifest(manifest) {
  const { name, displayName, description, version, publisher, keywords, categories, engines } = manifest
  const tags = [...keywords, `__ext_${name}`].join(",")
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id="${escaped(name)}" Version="${escaped(version)}" Publisher="${escaped(publisher)}" />
    <DisplayName>${escaped(displayName)}</DisplayName>
    <Description xml:space="preserve">${escaped(description)}</Description>
    <Tags>${escaped(tags)}</Tags>
    <Categories>${escaped(categories.join(","))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escaped(engines.vscode)}" />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionDependencies" Value="" />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionPack" Value="" />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace" />
      <Property Id="Microsoft.VisualStudio.Code.LocalizedLanguages" Value="" />
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true" />
  </Assets>
</PackageManifest>
`
}

const types = /** @type {Readonly<Record<string, string>>} */ ({
  ".cjs": "application/javascript",
  ".mjs": "application/javascript",
  ".json": "application/json",
  ".md": "text/markdown",
  ".txt": "text/plain",
  ".vsixmanifest": "text/xml",
})

/** @param {readonly string[]} paths */
function contentTypes(paths) {
  const extensions = new Set([".vsixmanifest", ...paths.map((path) => extname(path))])
  const entries = [...extensions].map((extension) => {
    return `<Default Extension="${extension}" ContentType="${types[extension] ?? "application/octet-stream"}"/>`
  })
  const schema = "http://schemas.openxmlformats.org/package/2006/content-types"
  return `<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="${schema}">${entries.join("")}</Types>\n`
}

if (process.argv[1] === import.meta.filename) {
  await main(async () => {
    const { name, bytes } = await buildExtension()
    const path = join(root, "dist", name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
    console.log(`${relative(process.cwd(), path)}: ${Math.round(bytes.length / 1024)} kB`)
    return 0
  })
}
