import { standardOutput } from "../terminal/screen.ts"
import { withoutTrailing } from "../../base/without-trailing.ts"
import type { Command } from "commander"
import { isJsonObject } from "../../base/is-json-object.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { ListedTool, ServerContents } from "../compose/compose-runs.ts"
import { count } from "../terminal/count.ts"
import { importsText, shownArgument } from "./mcp-imports.ts"
import { stopSignal } from "../terminal/stop-signal.ts"
import { cutText } from "../../base/cut-text.ts"
import { cellWidth } from "../terminal/cell-width.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { visibleJson, visibleText } from "../../base/visible-text.ts"
import { complain } from "../terminal/complain.ts"
import { usableSettings } from "./usable-settings.ts"

interface InspectFlags {
  readonly header?: readonly string[]
  readonly name?: string
  readonly json?: true
  readonly wire?: true
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function addInspect(mcp: Command): void {
  mcp
    .command("inspect")
    .summary("list what an MCP server offers")
    .description(
      "Lists the tools, resources and prompts of an MCP server, and prints declarations that import them, each tool pinned\n" +
        "to its definition of today.",
    )
    .argument("<url>", "the server's address (streamable HTTP, or the older HTTP+SSE)")
    .option("-H, --header <name: value>", "a header to send, or name=env:VARIABLE; may be repeated", several)
    .option("--name <name>", "what the declarations call the server; default: its own name")
    .option("--wire", "print the declarations alone")
    .option("--json", "print everything as one JSON document")
    .addHelpText(
      "after",
      `
Examples:
  wire mcp inspect http://127.0.0.1:3001/mcp
  wire mcp inspect https://tracker.example.com/mcp -H Authorization=env:TRACKER_AUTHORIZATION
  wire mcp inspect https://tracker.example.com/mcp --wire >> flow.wire

Exit code: 0 when the server answered, 1 when it cannot be reached or refuses, 2 for a wrong command line.`,
    )
    .action(async (url: string, flags: InspectFlags, command: Command) => {
      process.exitCode = await inspect(url, flags, command)
    })
}

async function inspect(url: string, flags: InspectFlags, command: Command): Promise<number> {
  if (flags.json === true && flags.wire === true) command.error("error: give --json or --wire, not both")
  const endpoint = URL.parse(url)
  if (endpoint === null || !/^https?:$/.test(endpoint.protocol)) {
    command.error(`error: ${visibleText(url)} is not an http or https address`)
  }
  if (flags.name !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(flags.name)) {
    command.error(`error: --name ${visibleText(flags.name)}: it must be letters, digits and _`)
  }
  const headers = readHeaders(flags.header ?? [], command)
  const settings = usableSettings()
  const { inspectMcp } = await import("../compose/compose-runs.ts")
  const stop = stopSignal()
  const abort = new AbortController()
  void stop.asked.then(() => abort.abort(new Error("Cancelled")))
  let contents: ServerContents
  try {
    contents = await inspectMcp(settings, { name: flags.name ?? "server", endpoint: url, headers }, abort.signal)
  } catch (error) {
    if (abort.signal.aborted) return 130
    if (!(error instanceof RunFailure)) throw error
    for (const { message, hint, upstream_status } of error.error.issues) {
      complain(visibleText(message))
      if (upstream_status === 401 || upstream_status === 403) {
        complain("Send a key with -H 'Authorization: Bearer …', or with -H Authorization=env:VARIABLE.")
      } else if (hint !== undefined && !message.includes(hint)) complain(visibleText(hint))
    }
    return 1
  } finally {
    stop.ignore()
  }
  const name = flags.name ?? nameFor(contents)
  const { text: imports, problems } = importsText(contents, { name, endpoint: url, headers: Object.keys(headers) })
  if (flags.json === true) standardOutput.print(visibleJson({ ...contents, imports }, 2))
  else if (flags.wire === true) standardOutput.document(imports ?? "")
  else standardOutput.print(`${shownContents(contents).join("\n")}\n\n${imports ?? ""}`.trimEnd())
  for (const sentence of problems) complain(sentence)
  return imports === null ? 1 : 0
}

function readHeaders(given: readonly string[], command: Command): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const header of given) {
    const [, name, written] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*[:=]([^\r\n]*)$/.exec(header) ?? []
    // Does not repeat the wrong value: it may be a secret.
    const value = written?.trimStart()
    if (name === undefined || value === undefined) command.error("error: write --header as 'Name: value'")
    const [, variable] = /^env:(\w+)$/.exec(value) ?? []
    const found = variable === undefined ? value : process.env[variable]
    if (found === undefined) command.error(`error: --header ${name}: the variable ${variable} is not set`)
    headers[name] = found
  }
  return headers
}

function nameFor({ name }: ServerContents): string {
  const words = (name.split("/").at(-1) ?? "").toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")
  const plain = withoutTrailing(words.replace(/^_+/, ""), "_")
  return /^[a-z_]/.test(plain) ? plain.slice(0, 40) : "server"
}

function shownContents(contents: ServerContents): string[] {
  const palette = paletteFor(standardOutput)
  const width = standardOutput.isTerminal ? standardOutput.columns : 120
  const { tools, resources, prompts } = contents
  const section = (title: string, rows: readonly (readonly string[])[]): string[] =>
    rows.length === 0 ? [] : ["", palette.bold(title), ...table(rows, width - 2).map((line) => `  ${line}`)]
  const who = [contents.name, contents.version].filter((one) => one !== "").join(" ")
  return [
    `${palette.bold(visibleText(who === "" ? "A server that gives no name" : who))} ${palette.faint(`(MCP ${contents.protocol})`)}`,
    ...section(
      count(tools.length, "tool"),
      tools.map((tool) => [tool.name, argumentsOf(tool), tool.hints.join(", "), tool.description]),
    ),
    ...section(
      count(resources.length, "resource"),
      resources.map(({ name, uri, media_type, description }) => [name, uri, media_type, description]),
    ),
    ...section(
      count(prompts.length, "prompt"),
      prompts.map(({ name, arguments: taken, description }) => [
        name,
        taken.map(shownArgument).join(", "),
        description,
      ]),
    ),
  ]
}

function argumentsOf({ input }: ListedTool): string {
  const { properties, required } = input
  if (!isJsonObject(properties)) return ""
  return Object.keys(properties)
    .map((name) => shownArgument({ name, required: Array.isArray(required) && required.includes(name) }))
    .join(", ")
}

/** Rows in columns; the last column takes what is left of the width. Texts are made fit for a terminal. */
function table(rows: readonly (readonly string[])[], width: number): string[] {
  const shown = rows.map((row) => row.map((cell) => visibleText(cell.replaceAll(/\s+/g, " ").trim())))
  const columns = Math.max(0, ...shown.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.min(widestCell, Math.max(0, ...shown.map((row) => cellWidth(row[column] ?? "")))),
  )
  const last = columns - 1
  const before = widths.slice(0, last).reduce((sum, one) => sum + one + gap, 0)
  return shown.map((row) => {
    const cells = row.map((cell, column) => {
      const most = column === last ? Math.max(20, width - before) : (widths[column] ?? 0)
      const cut = cutText(cell, most)
      return column === last ? cut : cut + " ".repeat(Math.max(0, most - cellWidth(cut)) + gap)
    })
    return cells.join("").trimEnd()
  })
}

const gap = 2
const widestCell = 48
