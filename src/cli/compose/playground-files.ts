import { existsSync, readFileSync } from "node:fs"
import { dirname, extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "../../server/playground-page.ts"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
}

/**
 * Scripts and styles from files of ours alone, connections to this service alone, and no page around this one. Trusted types have
 * one policy, which gives the address of the language's worker and nothing else.
 */
const security = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "media-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types language-worker",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

/** The built playground beside this file; a plain page that says how to get on where it has not been built. */
export function playgroundFiles(
  folder = join(dirname(fileURLToPath(import.meta.url)), "playground"),
): (path: string) => Page | undefined {
  if (!existsSync(join(folder, "index.html"))) return (path) => (path === "" ? plainPage : undefined)
  const pages = new Map<string, Page | undefined>()
  return (path) => {
    const name = path === "" ? "index.html" : path
    if (!/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+$/.test(name)) return undefined
    if (!pages.has(name)) pages.set(name, readPage(folder, name))
    return pages.get(name)
  }
}

function readPage(folder: string, name: string): Page | undefined {
  const type = types[extname(name)]
  const file = join(folder, name)
  if (type === undefined || !existsSync(file)) return undefined
  // The names of scripts and styles carry a hash of their content.
  const cache = name.endsWith(".html") ? "no-cache" : "public, max-age=31536000, immutable"
  const compressed = [
    { encoding: "br", file: `${file}.br` },
    { encoding: "gzip", file: `${file}.gz` },
  ].filter(({ file: path }) => existsSync(path))
  return {
    headers: { "content-type": type, "cache-control": cache, ...security },
    body: readFileSync(file),
    compressed: compressed.map(({ encoding, file: path }) => ({ encoding, body: readFileSync(path) })),
  }
}

const plainPage: Page = {
  headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache", ...security },
  body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Wireworks</title>
<h1>Wireworks is running</h1>
<p>The playground has not been built here. Run a workflow with <code>POST /execute</code>;
<a href="/openapi.json">openapi.json</a> describes every route.</p>
</html>
`,
  compressed: [],
}
