import { visibleJson, visibleLines } from "../../base/visible-text.ts"
import type { Command } from "commander"
import type { StoreReport } from "../compose/open-store.ts"
import { count } from "../terminal/count.ts"
import { flagOf, settingTable } from "../compose/settings.ts"
import { endProcess } from "../terminal/end-process.ts"
import { Output } from "../terminal/terminal.ts"
import { readErased } from "./erase.ts"
import { readText } from "./given-values.ts"
import { usableSettings } from "./usable-settings.ts"
import { CommandFailure, WrongValue } from "../terminal/command-failure.ts"

export function storeCommand(store: Command): void {
  store.description(
    "Checks, copies and moves the database that the service keeps its runs in, and changes its encryption key.",
  )
  store
    .command("check")
    .summary("report whether the store is whole")
    .description(
      "Checks every page of the database and opens every run, question and notification in it. Changes nothing; the service may run meanwhile.",
    )
    .option(`${flagOf(settingTable.dataDir.env)} <value>`, `${settingTable.dataDir.description} (WIRE_DATA_DIR)`)
    .option(
      `${flagOf(settingTable.encryptionKey.env)} <value>`,
      `${settingTable.encryptionKey.description} (WIRE_ENCRYPTION_KEY)`,
    )
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Examples:
  wire store check
  wire store check --data-dir /var/lib/wireworks --json | jq .problems

Exit code: 0 when all is well, 1 when something is missing or damaged, 2 for a wrong command line or setting.`,
    )
    .action(async ({ json, ...flags }: { json?: true } & Record<string, string | true | undefined>) => {
      const output = new Output()
      const settings = usableSettings(flags as Record<string, string | undefined>)
      if (settings.store === "memory") throw new WrongValue("A store in memory cannot be checked.")
      const { checkStoreOf } = await import("../compose/open-store.ts")
      const checked = await checkStoreOf(settings)
      if ("refused" in checked) return refuse(output, json, checked.refused)
      output.out(json === true ? visibleJson(checked.report, 2) : visibleLines(forPeople(checked.report)))
      process.exitCode = checked.report.problems.length > 0 ? 1 : 0
    })
  addBackup(store)
  addMove(store)
  addChangeKey(store)
  addEraseAgain(store)
}

function addBackup(store: Command): void {
  store
    .command("backup")
    .summary("copy the store into a file")
    .description(
      "Copies the database as it is at one moment into a new file. The service may run meanwhile.\n" +
        "The copy is as encrypted as the database: keep the key apart from it. Only for WIRE_STORE=sqlite.",
    )
    .argument("<file>", "the copy; it must not exist yet")
    .option(`${flagOf(settingTable.dataDir.env)} <value>`, `${settingTable.dataDir.description} (WIRE_DATA_DIR)`)
    .addHelpText(
      "after",
      `
Examples:
  wire store backup /backups/wireworks-$(date +%F).db
  wire store backup --data-dir /var/lib/wireworks copy.db

Exit code: 0 when the copy is there, 1 when it could not be made, 2 for a wrong command line or setting.`,
    )
    .action(async (file: string, flags: Record<string, string | undefined>) => {
      const settings = usableSettings(flags)
      if (settings.store !== "sqlite") throw new WrongValue(howToCopy(settings.store))
      const { backUpSqlite } = await import("../compose/open-store.ts")
      const problem = await backUpSqlite(settings, file)
      if (problem !== null) throw new CommandFailure(visibleLines(problem))
      new Output().out("The copy is made. It opens with the encryption key of the store, which is not in it.")
    })
}

interface MoveFlags {
  readonly from: string
  readonly to: string
  readonly json?: true
}

function addMove(store: Command): void {
  store
    .command("move")
    .summary("copy the store to another database")
    .description(
      "Copies all runs, ended, waiting and open ones, with their questions, notifications and cached answers. Stop the service first; the first database stays as it is.\n" +
        "After a break, the same command goes on where it stopped. At the end all rows are compared; until then no service opens the new database.",
    )
    .requiredOption("--from <store>", "sqlite:FOLDER, or postgres://user:password@host/database")
    .requiredOption("--to <store>", "the same; it must be empty")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
The schema and the certificates of PostgreSQL are those of WIRE_POSTGRES_SCHEMA, WIRE_POSTGRES_CA, WIRE_POSTGRES_CERT and WIRE_POSTGRES_KEY.

Examples:
  wire store move --from sqlite:/var/lib/wireworks --to postgres://wire:secret@db/wire
  wire store move --from postgres://wire:secret@db/wire --to sqlite:/var/lib/wireworks

Exit code: 0 when the new database has everything, 1 when not, 2 for a wrong command line or setting.`,
    )
    .action(async ({ from, to, json }: MoveFlags) => {
      const output = new Output()
      const settings = usableSettings()
      const { moveStoreOf } = await import("../compose/open-store.ts")
      const moved = await moveStoreOf(settings, {
        from,
        to,
        tell: ({ verb, table, done, total }) => output.progress(`${verb} ${table}:`, done, total, "rows"),
      })
      if ("refused" in moved) return refuse(output, json, moved.refused)
      const { rows, resumed } = moved
      output.out(json === true ? visibleJson({ rows, resumed, problems: [] }, 2) : movedSentence(rows, to))
    })
}

function addChangeKey(store: Command): void {
  store
    .command("change-key")
    .summary("change the encryption key")
    .description(
      "Puts the store under a new encryption key, in one step. Runs that are stored stay as they are; those that begin afterwards cannot be read with the old key.\n" +
        "Stop the service first, and start it with the new key.",
    )
    .option(`${flagOf(settingTable.dataDir.env)} <value>`, `${settingTable.dataDir.description} (WIRE_DATA_DIR)`)
    .addHelpText(
      "after",
      `
The keys are read from the environment: WIRE_ENCRYPTION_KEY is the new one (without it, the key file in the data folder has it), WIRE_ENCRYPTION_KEY_OLD the one before.

Example:
  WIRE_ENCRYPTION_KEY_OLD=$OLD WIRE_ENCRYPTION_KEY=$(openssl rand -base64 32) wire store change-key

Exit code: 0 when the store is under the new key, 1 when not, 2 for a wrong command line or setting.`,
    )
    .action(async (flags: Record<string, string | undefined>) => {
      const output = new Output()
      const settings = usableSettings(flags)
      if (settings.store === "memory") throw new WrongValue("A store in memory has no key.")
      const { changeKeyOf } = await import("../compose/open-store.ts")
      const changed = await changeKeyOf(settings)
      if ("refused" in changed) return refuse(output, undefined, changed.refused)
      output.out(
        changed.key === "changed"
          ? "The store is under the new key. Start the service with it, and keep the old key as long as you keep copies of the store from before."
          : "The store is under the new key already.",
      )
    })
}

function addEraseAgain(store: Command): void {
  store
    .command("erase-again")
    .summary("erase runs again after a backup was restored")
    .description(
      "Erases the runs that `wire erase --list` printed, with everything that is stored of them. Ids of runs that are not there are passed over.\n" +
        "Stop the service first.",
    )
    .argument("<file>", "what `wire erase --list` printed: JSON, or an id at the beginning of each line")
    .option(`${flagOf(settingTable.dataDir.env)} <value>`, `${settingTable.dataDir.description} (WIRE_DATA_DIR)`)
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Example:
  wire erase --list --url https://wire.example.com > erased.json
  wire store erase-again erased.json

Exit code: 0 when none of these runs is there any more, 1 when not, 2 for a wrong command line or setting.`,
    )
    .action(async (file: string, { json, ...flags }: { json?: true } & Record<string, string | true | undefined>) => {
      const output = new Output()
      const settings = usableSettings(flags as Record<string, string | undefined>)
      if (settings.store === "memory") throw new WrongValue("A store in memory has no backups.")
      const ids = readErased(readText(file), file)
      const { eraseAgain } = await import("../compose/erase-again.ts")
      const done = await eraseAgain(settings, ids, (count) => output.progress("Erasing", count, ids.length, "runs"))
      if ("refused" in done) return refuse(output, json, done.refused)
      const { erased, open } = done
      if (json === true) output.out(visibleJson({ erased, open }, 2))
      else output.out(`${count(erased, "run")} erased; the others of ${count(ids.length, "id")} are not in the store.`)
      if (open.length === 0) return
      output.err([`${count(open.length, "run")} have not ended, and stay: ${visibleLines(open.join(", "))}`])
      process.exitCode = 1
    })
}

function refuse(output: Output, json: true | undefined, sentence: string): void {
  endProcess()
  if (json !== true) throw new CommandFailure(visibleLines(sentence))
  output.out(visibleJson({ problems: [sentence] }, 2))
  process.exitCode = 1
}

function movedSentence(rows: number, to: string): string {
  const start = /^postgres(ql)?:/.test(to)
    ? "with WIRE_STORE set to this address, and WIRE_ENCRYPTION_KEY to the key that it had (without that setting: the content of wireworks.key beside the old database)"
    : "with WIRE_DATA_DIR set to this folder, and the same WIRE_ENCRYPTION_KEY"
  return `Copied and compared ${count(rows, "row")}. Start the service ${start}. Do not start one on the old database again: its open runs would run twice.`
}

function howToCopy(store: string): string {
  return /^postgres(ql)?:/.test(store)
    ? "Only a store with WIRE_STORE=sqlite is copied by this command; PostgreSQL's own pg_dump copies the schema (-n wire)."
    : "Only a store with WIRE_STORE=sqlite can be copied."
}

/** What the runs of each caller take. */
function storedBy({ stored }: StoreReport): string {
  if (stored === null) return "not counted"
  const parts = stored.slice(0, 3).map(({ caller, bytes }) => {
    const size = `${Math.ceil(bytes / 1024)} KiB`
    return caller === "" ? size : `${caller} ${size}`
  })
  return parts.length === 0 ? "nothing" : parts.join(", ")
}

function filesOf({ files }: StoreReport): string {
  if (files === null) return "not counted"
  const sum = `${count(files.files, "file")}, ${Math.ceil(files.bytes / 1024)} KiB`
  return files.missing === 0 ? sum : `${sum}; ${files.missing} missing`
}

function forPeople(report: StoreReport): string {
  const { runs, problems } = report
  const rows: [string, string][] = [
    ["database", `${report.path} (${Math.ceil(report.bytes / 1024)} KiB, format ${report.format})`],
    ["open in", report.open_by === 0 ? "no process" : `${report.open_by} process${report.open_by === 1 ? "" : "es"}`],
    ["runs", `${runs.unfinished} unfinished, ${runs.ended} ended`],
    ["events", String(report.events)],
    ["oldest run", report.oldest_run ?? "none"],
    ["newest run", report.newest_run ?? "none"],
    [
      "questions",
      report.questions === null ? "not counted" : `${report.questions.open} open, ${report.questions.settled} settled`,
    ],
    [
      "notices",
      report.notifications === null
        ? "not counted"
        : `${report.notifications.pending} pending, ${report.notifications.settled} settled`,
    ],
    ["cached", count(report.cached_answers, "answer")],
    ["stored", storedBy(report)],
    ["files", filesOf(report)],
  ]
  const lines = rows.map(([name, value]) => `${name.padEnd(12)}${value}`)
  for (const id of report.damaged_run_ids) lines.push(`damaged run ${id}`)
  const end = problems.length === 0 ? ["All is well."] : problems
  return [...lines, "", ...end].join("\n")
}
