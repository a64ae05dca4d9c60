import { posix } from "node:path"
import { importsOf } from "./imports-of.ts"

/** Layer of each folder of `src/`, and of the files beside the folders. A folder imports only from lower numbers. */
export const layers: Readonly<Record<string, number>> = {
  base: 0,
  "event-loop": 0.5,
  source: 1,
  syntax: 2,
  types: 2,
  check: 3,
  plan: 4,
  "compile.ts": 4.5,
  "compile-tests.ts": 4.55,
  log: 4.7,
  ports: 4.8,
  run: 5,
  editor: 5,
  api: 6,
  // What the adapters of all model APIs share.
  "adapters/model-turn": 5.5,
  adapters: 6,
  demo: 6,
  compiler: 6.5,
  workflows: 6.6,
  testing: 7,
  client: 7,
  server: 7,
  "mcp-server": 7,
  lsp: 7,
  cli: 8,
}

/** Layer of each folder of `playground/`: the state imports no view, and views of one layer do not import each other. */
const playgroundLayers: Readonly<Record<string, number>> = {
  examples: 1.5,
  style: 0,
  ui: 0,
  state: 1,
  run: 2,
  output: 3,
  timeline: 3,
  graph: 3,
  editor: 3,
  form: 3,
  events: 3,
  history: 3,
  runs: 3,
  share: 3,
  details: 4,
  questions: 4,
  shell: 5,
  "main.tsx": 6,
}

/** What the playground may import of `src/`: what runs in a browser. */
const browserFolders = new Set([
  "base",
  "source",
  "syntax",
  "types",
  "check",
  "plan",
  "compile.ts",
  "compile-tests.ts",
  "editor",
  "api",
  "client",
  "log/events.ts",
  "log/reduce.ts",
  "log/reduce/answer-progress.ts",
  "log/run-state.ts",
])

/** The files that join ports to adapters. */
const composers: readonly string[] = [
  "src/cli/compose.ts",
  "src/cli/compose-runs.ts",
  "src/cli/join-ports.ts",
  "src/cli/model-apis.ts",
  "src/cli/open-store.ts",
]

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
 * may import what they test with, from any layer, and are left out.
 */
export function layerViolations(files: ReadonlyMap<string, string>): Violation[] {
  const edges: Edge[] = []
  const violations: Violation[] = []
  for (const [file, text] of files) {
    if (isTest(file)) continue
    const folder = folderOf(file)
    if (file.startsWith("playground/") && folder !== "modules.d.ts" && playgroundLayers[folder] === undefined) {
      violations.push({ file, line: 1, message: `playground/${folder} has no layer number in scripts/layers.ts` })
      continue
    }
    if (file.startsWith("src/") && layerOf(file) === undefined) {
      violations.push({ file, line: 1, message: `src/${folderOf(file)} has no layer number in scripts/layers.ts` })
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

function layerOf(file: string): number | undefined {
  return layers[file.slice("src/".length)] ?? layers[roomOf(file)] ?? layers[folderOf(file)]
}

/** Adapters stand apart from each other: `adapters/sqlite`. */
function roomOf(file: string): string {
  const parts = file.split("/")
  return parts[1] === "adapters" ? parts.slice(1, 3).join("/") : (parts[1] ?? "")
}

/** What is wrong with an import, or null. */
function judge(edge: Edge, files: ReadonlyMap<string, string>): string | null {
  const { from, to } = edge
  if (!files.has(to)) return isSource(to) ? `imports ${to}, which does not exist` : null
  if (isTest(to)) return `imports the test ${to}`
  if (from.startsWith("playground/")) return judgePlayground(from, to)
  if (!from.startsWith("src/")) return null
  if (!to.startsWith("src/")) return `imports ${to}, which is outside of src/`

  const [fromRoom, toRoom] = [roomOf(from), roomOf(to)]
  if (fromRoom === toRoom) return null
  const [fromLayer, toLayer] = [layerOf(from), layerOf(to)]
  if (fromLayer === undefined || toLayer === undefined) return null
  if (folderOf(to) === "adapters" && !composers.includes(from) && folderOf(from) !== "adapters") {
    return `imports ${to}: only ${composers.map((file) => posix.basename(file)).join(", ")} of src/cli join ports to adapters`
  }
  return compareLayers([fromRoom, fromLayer], [toRoom, toLayer])
}

function judgePlayground(from: string, to: string): string | null {
  if (to.startsWith("src/")) {
    const inBrowser = browserFolders.has(folderOf(to)) || browserFolders.has(to.slice("src/".length))
    return inBrowser ? null : `imports ${to}, which does not run in a browser`
  }
  const [fromFolder, toFolder] = [folderOf(from), folderOf(to)]
  const [fromLayer, toLayer] = [playgroundLayers[fromFolder], playgroundLayers[toFolder]]
  if (fromFolder === toFolder || fromLayer === undefined || toLayer === undefined) return null
  return compareLayers([fromFolder, fromLayer], [toFolder, toLayer])
}

/** What is wrong with an import from one room, of a layer, to another. */
function compareLayers(from: readonly [string, number], to: readonly [string, number]): string | null {
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
