import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"

// User mistakes are values, bugs throw. A `catch` that does not look at its error takes a bug in what it guards for the mistake that it expects. So
// it guards only what throws for the text of a user, or it has a reason here.

const root = dirname(import.meta.dirname)

/** They throw for what somebody wrote, for a file that is not there, or because the wait was ended. */
const expected = new RegExp(
  `^(?:${[
    "JSON\\.parse|parseInOrder|JSON\\.stringify|decodeURIComponent|atob|new (?:URL|RegExp|TextDecoder|DecompressionStream|Intl\\.DateTimeFormat)|decoder(?:Of)?",
    "(?:fs\\.)?(?:access|link|lstat|readdir|readFile|realpath|rename|stat|statfs|write)(?:Sync)?|fileURLToPath|readRegularFile",
    "clock\\.sleep|pass|createPrivateKey|sign|navigator\\.clipboard\\.writeText",
    // Plain work on texts and lists, which does not throw.
    "Array\\.from|Date\\.now|Number|Object\\.entries|Uint8Array\\.from|new (?:Map|Set)|join|relative|isInside|isJsonObject",
  ].join("|")})$`,
)
/** Methods of texts, lists and the like. */
const methods =
  /^(?:at|cancel|catch|charCodeAt|decode|endsWith|exec|filter|final|flatMap|has|includes|isFile|map|pipeThrough|push|replace|replaceAll|slice|split|startsWith|test|toString|trim)$/

/** Others, by the file: what is expected, and why it is the user's or another machine's. */
const accepted: Readonly<Record<string, string>> = {
  "src/adapters/mcp/server-connection.ts":
    "the answer of a stranger's server; the goodbye to a server that may be gone",
  "src/adapters/model-turn/read-rest.ts": "the connection of a backend whose answer is complete",
  "src/adapters/model-turn/repair-answer.ts": "the text of a model",
  "src/adapters/postgres/listener.ts": "a server that is away: it connects again",
  "src/adapters/postgres/transaction-writer.ts": "a connection that broke: it is dropped",
  "src/adapters/sqlite/prepared-statements.ts": "a statement that an older database does not know",
  "src/adapters/sqlite/writer.ts": "a checkpoint that a reader holds up: the next one does it",
  "src/adapters/telemetry/metrics.ts": "a store that is away: its gauges vanish",
  "src/adapters/sqlite/clock-file.ts": "a disk that takes no file: the clock of the process counts",
  "src/client/client.ts": "a run that nobody waits for: it has ended, or the service is gone",
  "src/run/batches/cancel-batches.ts": "the time for it is over",
  "src/cli/commands/reach.ts":
    "a file of the user: comparing it is the check of its shape, and our own reach is compared outside",
  "src/cli/compose/disk-room.ts": "a folder that is gone",
  "src/cli/compose/log-lines.ts": "nobody is left to tell",
  "src/compiler/project-path.ts": "a file or folder that is not there",
  "src/ports/store-clock.ts": "a store that is away, which is watched elsewhere",
  "src/run/agent/agent-cache.ts": "a cache that fails costs a model call, and an event says so",
  "src/run/log/lease-keeper.ts": "a store that is away does not take a lease",
  "src/server/routes/operations.ts": "a store that is away: readiness says so",
  "src/store/changes.ts": "a store that is away: the next look finds it",
  "src/workflows/workflow-folder.ts": "a folder that cannot be read, and watches that the system does not have",
  "playground/values/shown-file.tsx": "the service that gives the file: it may be away, or the file gone",
  "playground/console/health-page.tsx": "a service that does not answer",
  "playground/console/run-list.ts": "the next look, or the person's own, says what is wrong",
  "playground/console/run-view.tsx": "the stream of the run says what is wrong with it",
  "playground/examples/examples.ts": "a script that was not loaded",
  "playground/history/kept-runs.ts": "a browser without a database",
  "playground/language/ask.ts": "a browser without workers",
  "playground/page/keep.ts": "a browser without storage",
  "playground/run/open-run.ts": "the service's answer is shown elsewhere",
  "playground/service/served.ts": "the service's answer is shown elsewhere",
  "playground/share/copy.ts": "a browser without a clipboard",
  "playground/share/link.ts": "what a stranger put into a link",
}

interface BlindCatch {
  readonly line: number
  /** What the `try` calls, and how often it imports late. */
  readonly calls: readonly string[]
}

function blindCatches(text: string): BlindCatch[] {
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, " ")
  const code = text.replaceAll(/\/\*[^]*?\*\/|(?<!:)\/\/.*/g, blank)
  return [...code.matchAll(/\} catch(?: \((\w+)\))? \{/g)].flatMap((found) => {
    const [whole, name] = found
    let depth = 1
    let start = found.index - 1
    for (; depth > 0; start--) depth += code[start] === "}" ? 1 : code[start] === "{" ? -1 : 0
    let end = found.index + whole.length
    for (depth = 1; depth > 0; end++) depth += code[end] === "{" ? 1 : code[end] === "}" ? -1 : 0
    const handler = code.slice(found.index + whole.length, end)
    if (name !== undefined && new RegExp(`\\b${name}\\b`).test(handler)) return []
    const body = code.slice(start + 2, found.index)
    const calls = [...body.matchAll(/(?:new )?[\w.#?]+(?=(?:<[^()]*>)?\()/g)].map(([call]) => call)
    return [{ line: code.slice(0, found.index).split("\n").length, calls }]
  })
}

function isExpected(call: string): boolean {
  const [last = ""] = call.split(".").slice(-1)
  if (call === "import") return false
  return expected.test(call.replace(/^(?:this\.)?#?(?:ports\.)?/, "").replace(/^#/, "")) || methods.test(last)
}

const files = ["src", "playground"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  )
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|node_modules/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }))

test("a catch that does not look at its error guards nothing of ours that could have a bug", () => {
  const used = new Set<string>()
  const found = files.flatMap(({ file, text }) =>
    blindCatches(text).flatMap(({ line, calls }) => {
      const others = calls.filter((call) => !isExpected(call))
      if (others.length === 0) return []
      if (file in accepted && !others.includes("import")) {
        used.add(file)
        return []
      }
      return [`${file}:${line} guards ${others.join(", ")}: look at the error, or guard less`]
    }),
  )
  assert.deepEqual(found, [])
  assert.deepEqual(
    Object.keys(accepted).filter((file) => !used.has(file)),
    [],
    "these need no reason any more",
  )
})

test("such a catch is found, whatever it guards", () => {
  const late = 'try {\n  const yaml = await import("yaml")\n  return yaml.parse(text)\n} catch {\n  return undefined\n}'
  assert.deepEqual(blindCatches(late), [{ line: 4, calls: ["import", "yaml.parse"] }])
  assert.ok(!isExpected("import") && !isExpected("yaml.parse") && isExpected("JSON.parse"))
  assert.equal(blindCatches("try {\n  f()\n} catch (error) {\n  return undefined\n}").length, 1)
  assert.deepEqual(blindCatches("try {\n  f()\n} catch (error) {\n  throw explain(error)\n}"), [])
})

test("packages that are imported late are ES modules: of others the bundle exports `default` alone", () => {
  for (const { file, text } of files) {
    for (const [, name = ""] of text.matchAll(/\bimport\("((?:@[\w-]+\/)?[\w-]+)(?:\/[\w/-]+)?"\)/g)) {
      const about = JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")) as {
        type?: string
      }
      assert.equal(about.type, "module", `${file} imports ${name}: import it in a file of ours, and that late`)
    }
  }
})
