// docs/diagnostics.md as a page of the playground, so that a problem's code leads to its entry without another site.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./setup.mjs"

/**
 * @param {string} style Name of the style sheet beside the page.
 * @returns {string}
 */
export function diagnosticsPage(style) {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Wireworks diagnostics</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${style}" />
  </head>
  <body class="document">
    <main>
${toHtml(readFileSync(join(root, "docs", "diagnostics.md"), "utf8"))}
    </main>
  </body>
</html>
`
}

/**
 * One page for each code, for `wire explain` and for links of editors, which open a file but no heading in it.
 * @returns {ReadonlyMap<string, string>}
 */
export function codePages() {
  const markdown = readFileSync(join(root, "docs", "diagnostics.md"), "utf8")
  const pages = new Map()
  for (const part of markdown.split(/^## /m).slice(1)) {
    const [title = "", ...entries] = part.split(/^### /m)
    const severity = title.trim().replace(/s$/, "").toLowerCase()
    for (const entry of entries) {
      const [code = "", ...lines] = entry.trimEnd().split("\n")
      // What a block's test expects is for the tests.
      const text = lines.join("\n").replaceAll(/^```wire .*$/gm, "```wire")
      pages.set(code, `# ${code} (${severity})\n${text}\n`)
    }
  }
  return pages
}

/**
 * Headings, paragraphs and fenced code: what the page consists of.
 * @param {string} markdown
 */
export function toHtml(markdown) {
  const blocks = markdown.split(/^```/m)
  return blocks.map((block, at) => (at % 2 === 0 ? prose(block) : code(block))).join("\n")
}

/** @param {string} text */
function prose(text) {
  const parts = text.split(/\n{2,}/).map((part) => part.trim())
  return parts.map((part) => (part === "" ? "" : paragraph(part))).join("\n")
}

/** @param {string} text */
function paragraph(text) {
  const heading = /^(#{1,3}) (.*)$/.exec(text)
  if (heading === null) return `<p>${inline(text)}</p>`
  const [, marks = "", title = ""] = heading
  const level = marks.length
  return `<h${level} id="${escaped(title.replaceAll(" ", "-").toLowerCase())}">${inline(title)}</h${level}>`
}

/** A block's first line names its language and what its test expects. @param {string} block */
function code(block) {
  const [about = "", ...lines] = block.split("\n")
  const is = /(error|warning)=/.test(about) ? ' class="wrong"' : ""
  return `<pre tabindex="0"${is}><code>${escaped(lines.join("\n").trimEnd())}</code></pre>`
}

/** Links lead to other documents, which are not served: their words stay. @param {string} text */
function inline(text) {
  return escaped(text)
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/`([^`]*)`/g, "<code>$1</code>")
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}
