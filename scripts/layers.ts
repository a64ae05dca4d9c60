import { posix } from "node:path"
import { importsOf } from "./imports-of.ts"

interface Folder {
  readonly floor: number
  /** For the table in docs/architecture.md. */
  readonly about: string
}

const at = (floor: number, about: string): Folder => ({ floor, about })

/** The folders of `src/`, and the files beside them. A folder imports only from lower floors. */
export const folders: Readonly<Record<string, Folder>> = {
  base: at(1, "helpers that know nothing of the domain, each file named for its one export"),
  "event-loop": at(1, "turns of Node's event loop: large work is done in parts, so that others get their turn"),
  source: at(2, "source text, spans, lines, diagnostics and their codes"),
  syntax: at(3, "tokens, lexer, parser, tree, formatter"),
  types: at(3, "the language's types: relations, printing, JSON Schema, validation of values"),
  check: at(4, "names and rules: tree → program"),
  plan: at(5, "program → plan"),
  log: at(
    6,
    "the events of a run, and the states that are made from them: what people see, and what a run goes on from",
  ),
  trust: at(6, "what strangers' words and private data can reach in a program"),
  ports: at(
    7,
    "interfaces between `run` and the adapters: model, tools, store, egress, vault, clock, chance; failures",
  ),
  diff: at(7, "what a change of a workflow means: its contract, its steps, its reach"),
  "compile.ts": at(7, "text → plan in one call"),
  "compile-tests.ts": at(8, "text → tests of a workflow"),
  store: at(8, "the run store on an SQL database: tables, statements, and everything that is the same for all of them"),
  api: at(8, "the HTTP contract: what each route takes and answers"),
  editor: at(8, "completion, hover, rename and the like, for every editor"),
  demo: at(8, "the demo model and the demo library"),
  origins: at(8, "where the words of a run's result came from: its plan, its input and its events, followed backwards"),
  run: at(9, "plan → events: the engine"),
  compiler: at(10, "compiles for the service: large sources in a thread, with limits"),
  adapters: at(10, "a folder for each way to implement a port; none imports another"),
  workflows: at(11, "a folder of workflows with names: discovery, reload, secrets of the server, types for callers"),
  testing: at(10, "`wire test`: runs the tests of a workflow and reports"),
  server: at(12, "HTTP routes and streams"),
  "mcp-server": at(12, "workflows as MCP tools"),
  lsp: at(12, "the language server"),
  client: at(12, "the typed client, for Node and browsers"),
  "api-import": at(12, "OpenAPI documents → declarations of HTTP tools"),
  cli: at(13, "the command line"),
}

/**
 * Folders with floors of their own inside: one of their folders imports only from lower ones beside it. Their own files are at the top, and folders without a row
 * right below.
 */
export const rooms: Readonly<Record<string, Readonly<Record<string, Folder>>>> = {
  run: {
    secrets: at(1, "which secrets a run has, and the search for them in whatever enters it"),
    files: at(1, "takes and gives files: an encrypted object for each, and rows of the store"),
    shares: at(1, "what the runs of a process share: memory, calls at a time, bytes of the store"),
    content: at(1, "the texts and values of a run that traces show"),
    values: at(2, "evaluates expressions and functions, within the work that a run may do"),
    log: at(3, "writes the events of a run, and keeps its lease"),
    budget: at(4, "limits of tokens, cost, calls and time"),
    notifications: at(4, "tells receivers how a run goes on"),
    waiting: at(4, "all that a run waits for: it parks where nothing else is left to do"),
    questions: at(5, "the questions of a run, and their answers"),
    context: at(6, "what all steps of a run need: its context, its backends, the scheduler"),
    batches: at(7, "model calls of looped agents that are made in batches, and what comes of them"),
    asking: at(7, "calls that ask people first: approvals, and what MCP servers ask"),
    called: at(8, "a workflow that is called within the run of another"),
    tools: at(9, "tools: connections, bindings, calls, and the calls that a workflow makes by itself"),
    agent: at(10, "an agent: its conversation with a model and with tools"),
  },
  adapters: {
    "model-turn": at(1, "the turn with a model that the adapters of all model APIs share"),
    oauth: at(1, "tokens by OAuth client credentials, for the adapters of tools"),
  },
  cli: {
    terminal: at(1, "what is shown and asked in a terminal"),
    compose: at(2, "joins ports to adapters: the settings, the service, and runs without a service"),
    commands: at(3, "a file for each command, and what commands read and write"),
  },
}

/** Floor of each folder of `playground/`. A folder imports only from lower floors. */
const playgroundFloors: Readonly<Record<string, number>> = {
  style: 0,
  ui: 0,
  page: 1,
  service: 1,
  language: 2,
  values: 2,
  form: 3,
  "shown-run": 4,
  share: 5,
  files: 6,
  history: 7,
  examples: 7,
  run: 8,
  trace: 8,
  questions: 8,
  reach: 8,
  output: 9,
  timeline: 9,
  graph: 9,
  editor: 9,
  events: 9,
  chat: 10,
  details: 10,
  session: 10,
  shell: 11,
  "main.tsx": 12,
  console: 12,
}

/** What the playground may import of `src/`: what runs in a browser. */
const browserFolders = new Set([
  "base",
  "source",
  "syntax",
  "types",
  "check",
  "plan",
  "trust",
  "compile.ts",
  "compile-tests.ts",
  "editor",
  "api",
  "client",
  "adapters/http-tools/build-request.ts",
  "log/events.ts",
  "log/reduce.ts",
  "log/span-names.ts",
  "origins",
  "diff/show-diff.ts",
  "log/elicitation-answer.ts",
  "log/reduce/answer-progress.ts",
  "log/run-state.ts",
])

/** The adapters that keep runs. What an event means to them is in `log` and `ports`. */
const storeRooms = new Set(["memory", "sqlite", "postgres", "vault"].map((name) => `adapters/${name}`))

export interface Violation {
  readonly file: string
  readonly line: number
  readonly message: string
}

interface Edge {
  readonly from: string
  readonly to: string
  readonly line: number
}

/**
 * Holds the import rules of the architecture over a set of files: path from the repository's root → text. Test files
 * may import what they test with, from any floor, and are left out.
 */
export function layerViolations(files: ReadonlyMap<string, string>): Violation[] {
  const edges: Edge[] = []
  const violations: Violation[] = []
  for (const [file, text] of files) {
    if (isTest(file)) continue
    const folder = folderOf(file)
    if (file.startsWith("playground/") && folder !== "modules.d.ts" && playgroundFloors[folder] === undefined) {
      violations.push({ file, line: 1, message: `playground/${folder} has no floor in scripts/layers.ts` })
      continue
    }
    if (file.startsWith("src/") && folders[folder] === undefined) {
      violations.push({ file, line: 1, message: `src/${folder} has no floor in scripts/layers.ts` })
      continue
    }
    for (const { specifier, line } of importsOf(text)) {
      if (!specifier.startsWith(".")) continue
      const edge = { from: file, to: posix.join(posix.dirname(file), specifier), line }
      const message = judge(edge, files)
      if (message === null) edges.push(edge)
      else violations.push({ file, line, message })
    }
  }
  return [...violations, ...cycles(edges)].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file)
}

/** `adapters` of `src/adapters/sqlite/store.ts`; `compile.ts` of `src/compile.ts`. */
function folderOf(file: string): string {
  return file.split("/")[1] ?? ""
}

/** The folders of adapters, of the run and of the command line stand apart from each other: `adapters/sqlite`. */
function roomOf(file: string): string {
  const [, folder = "", ...rest] = file.split("/")
  return rooms[folder] !== undefined && rest.length > 1 ? `${folder}/${rest[0]}` : folder
}

/** The floor of a room among those of its folder. */
function floorInside(room: string): number {
  const [folder = "", name] = room.split("/")
  const inside = rooms[folder] ?? {}
  const highest = Math.max(0, ...Object.values(inside).map(({ floor }) => floor))
  return name === undefined ? highest + 2 : (inside[name]?.floor ?? highest + 1)
}

/** Says why an import is wrong; null where it is right. */
function judge(edge: Edge, files: ReadonlyMap<string, string>): string | null {
  const { from, to } = edge
  if (!files.has(to)) return isSource(to) ? `imports ${to}, which does not exist` : null
  if (isTest(to)) return `imports the test ${to}`
  if (from.startsWith("playground/")) return judgePlayground(from, to)
  if (!from.startsWith("src/")) return null
  if (!to.startsWith("src/")) return `imports ${to}, which is outside of src/`

  const [fromRoom, toRoom] = [roomOf(from), roomOf(to)]
  if (fromRoom === toRoom) return null
  const [fromFloor, toFloor] = [folders[folderOf(from)]?.floor, folders[folderOf(to)]?.floor]
  if (fromFloor === undefined || toFloor === undefined) return null
  if (folderOf(to) === "adapters" && roomOf(from) !== "cli/compose" && folderOf(from) !== "adapters") {
    return `imports ${to}: only src/cli/compose joins ports to adapters`
  }
  if (folderOf(from) === "run" && folderOf(to) === "editor")
    return `imports ${to}: a run has nothing to do with editors`
  if (storeRooms.has(fromRoom) && folderOf(to) === "run") return `imports ${to}: stores know nothing of the engine`
  return folderOf(from) === folderOf(to)
    ? compareFloors([fromRoom, floorInside(fromRoom)], [toRoom, floorInside(toRoom)])
    : compareFloors([fromRoom, fromFloor], [toRoom, toFloor])
}

function judgePlayground(from: string, to: string): string | null {
  if (to.startsWith("src/")) {
    const inBrowser = browserFolders.has(folderOf(to)) || browserFolders.has(to.slice("src/".length))
    return inBrowser ? null : `imports ${to}, which does not run in a browser`
  }
  const [fromFolder, toFolder] = [folderOf(from), folderOf(to)]
  const [fromFloor, toFloor] = [playgroundFloors[fromFolder], playgroundFloors[toFolder]]
  if (fromFolder === toFolder || fromFloor === undefined || toFloor === undefined) return null
  return compareFloors([fromFolder, fromFloor], [toFolder, toFloor])
}

/** Says why an import from one folder, of a floor, to another is wrong. */
function compareFloors(from: readonly [string, number], to: readonly [string, number]): string | null {
  if (to[1] > from[1]) return `imports uphill: ${from[0]} (${from[1]}) → ${to[0]} (${to[1]})`
  if (to[1] === from[1]) return `imports its equal: ${from[0]} → ${to[0]} (both ${to[1]})`
  return null
}

function isSource(path: string): boolean {
  return /\.tsx?$/.test(path)
}

/** One violation for each cycle that a depth-first walk closes, spelled out from the file that comes first. */
function cycles(edges: readonly Edge[]): Violation[] {
  const out = new Map<string, Edge[]>()
  for (const edge of edges) out.set(edge.from, [...(out.get(edge.from) ?? []), edge])
  const done = new Set<string>()
  const found: Violation[] = []

  const walk = (file: string, trail: readonly Edge[]): void => {
    for (const edge of out.get(file) ?? []) {
      const start = trail.findIndex((earlier) => earlier.from === edge.to)
      if (edge.to === file || start >= 0) {
        const loop = edge.to === file ? [edge] : [...trail.slice(start), edge]
        const spelled = [...loop.map((step) => step.from), edge.to].join(" → ")
        found.push({ file: edge.from, line: edge.line, message: `closes an import cycle: ${spelled}` })
      } else if (!done.has(edge.to)) {
        walk(edge.to, [...trail, edge])
      }
    }
    done.add(file)
  }
  for (const file of [...out.keys()].sort()) if (!done.has(file)) walk(file, [])
  return found
}
