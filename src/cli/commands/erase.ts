import { setTimeout as sleep } from "node:timers/promises"
import type { Command } from "commander"
import type { ErasedRunsAnswer, ErasureBody, ErasureState } from "../../client/client.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { count } from "../terminal/count.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"

const askAgainMs = 500

interface EraseFlags extends ServiceFlags {
  readonly where?: readonly string[]
  readonly workflow?: string
  readonly dryRun?: boolean
  readonly alsoOpen?: true
  readonly list?: true
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function eraseCommand(erase: Command): void {
  erase.description(
    "Erases the runs of a running service whose input has these values, with everything that is stored of them: events, files, cached answers, questions.\n" +
      "For operators. Without --no-dry-run it counts them.",
  )
  serviceOptions(
    erase
      .option("--where <path=value>", "a value of the input; `:=` for JSON; may be repeated: all must hold", several)
      .option("--workflow <name>", "only runs of this workflow")
      .option("--no-dry-run", "erase them")
      .option("--also-open", "go on until runs that are open have ended, and erase them as well")
      .option("--list", "print the ids of all erased runs: `wire store erase-again` takes them after a restore"),
  )
    .addHelpText(
      "after",
      `
Examples:
  wire erase --where input.customer=42
  wire erase --where input.customer=42 --no-dry-run --url https://wire.example.com
  wire erase --where input.order:=17 --workflow shop/refund --no-dry-run --also-open
  wire erase --list > erased.json

Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`,
    )
    .action((flags: EraseFlags) => callService(flags, (call) => (flags.list === true ? list(call) : act(call, flags))))
}

async function act(call: ServiceCall, flags: EraseFlags): Promise<void> {
  const { where = [], workflow, dryRun = true, alsoOpen = false } = flags
  if (where.length === 0) throw new WrongValue("Give the values to look for: --where input.customer=42.")
  const body: ErasureBody = {
    where: Object.fromEntries(where.map(readValue)),
    dry_run: dryRun,
    also_open: alsoOpen,
    ...(workflow !== undefined && { workflow }),
  }
  const { id } = await call.client.startErasure(body)
  let state = await call.client.erasure(id)
  while (state.status === "running") {
    await sleep(askAgainMs)
    state = await call.client.erasure(id)
  }
  call.print({ id, ...state }, () => linesOf(state, dryRun))
}

function linesOf({ matched, erased, open, unreadable, not_erased }: ErasureState, dryRun: boolean): string[] {
  const lines = [dryRun ? `${count(matched, "run")} would be erased.` : `${count(erased, "run")} erased.`]
  if (open.length > 0) lines.push(`Open, and not erased: ${open.join(", ")}`)
  if (unreadable.length > 0) lines.push(`Damaged, so that nobody knows whether they match: ${unreadable.join(", ")}`)
  if (!dryRun) lines.push("Not erased:", ...not_erased.map((one) => `  ${one}`))
  return lines
}

async function list(call: ServiceCall): Promise<void> {
  const erased: ErasedRunsAnswer["erased"][number][] = []
  for (let after: string | null = ""; after !== null;) {
    const page: ErasedRunsAnswer = await call.client.erased(after === "" ? {} : { after })
    erased.push(...page.erased)
    after = page.next
  }
  const rows = erased.map(({ run_id, erased_at }) => [run_id, erased_at])
  call.table({ erased }, ["RUN", "ERASED"], rows, "No run was erased.")
}

function readValue(written: string): [string, JsonValue] {
  const [, path, operator, value] = /^([^=:]+)(:?=)([\s\S]*)$/.exec(written) ?? []
  if (path === undefined || value === undefined) {
    throw new WrongValue(`--where "${written}" must be like input.customer=42, or input.order:=17 for JSON.`)
  }
  if (operator === "=") return [path, value]
  try {
    return [path, JSON.parse(value) as JsonValue]
  } catch {
    throw new WrongValue(`--where "${written}": what follows := is not JSON.`)
  }
}

/** The ids that `--list` has printed: as JSON, or as a table. */
export function readErased(text: string, file: string): readonly string[] {
  if (!text.trimStart().startsWith("{")) {
    const first = text.split("\n").map((line) => line.trim().split(/\s+/)[0] ?? "")
    return first.filter((word) => word !== "" && word !== "RUN")
  }
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw new WrongValue(`${file} is not what \`wire erase --list\` prints.`)
  }
  const erased = isJsonObject(read) ? read["erased"] : undefined
  if (!Array.isArray(erased)) throw new WrongValue(`${file} is not what \`wire erase --list\` prints.`)
  return erased.flatMap((one) => (isJsonObject(one) && typeof one["run_id"] === "string" ? [one["run_id"]] : []))
}
