import type { Command } from "commander"
import type { MovedRun } from "../../client/client.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"

interface MoveFlags extends ServiceFlags {
  readonly to?: string
  readonly from?: string
  readonly run?: readonly string[]
  readonly dryRun?: boolean
}

const shownOutcomes: Readonly<Record<MovedRun["outcome"], string>> = {
  moves: "moves",
  moves_and_asks_again: "moves, asks again",
  stays: "stays",
}

export function moveCommand(move: Command): void {
  move
    .description(
      "Moves runs that wait to another version of their workflow, where nothing is lost and nothing is done twice, and says of\n" +
        "each what becomes of it. With an operator's key, where there are keys.",
    )
    .argument("<workflow>", "the name of the workflow")
    .option("--to <version>", "a version that `wire versions` lists (default: the one that serves)")
    .option("--from <version>", "only runs of this version")
    .option("--run <id...>", "only these runs")
    .option("--dry-run", "move nothing: say what a move would do")
  serviceOptions(move)
    .addHelpText(
      "after",
      `
Examples:
  wire move tickets/triage --dry-run
  wire move tickets/triage --to 91b2d4a7e001 --url https://wire.example.com

Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`,
    )
    .action((name: string, flags: MoveFlags) => callService(flags, (call) => moveAll(call, name, flags)))
}

async function moveAll(call: ServiceCall, name: string, { to, from, run, dryRun = false }: MoveFlags): Promise<void> {
  const about = { to: to ?? null, from: from ?? null, run_ids: run ?? null, dry_run: dryRun }
  const runs: MovedRun[] = []
  const sums = { moved: 0, asked_again: 0, stay: 0 }
  let after: string | null = null
  do {
    const page = await call.client.moveRuns(name, { ...about, after })
    runs.push(...page.runs)
    for (const key of ["moved", "asked_again", "stay"] as const) sums[key] += page[key]
    after = page.next
  } while (after !== null)
  const rows = runs.map(({ run_id, outcome, because }) => [run_id, shownOutcomes[outcome], because.join("; ")])
  call.table({ ...sums, runs }, ["RUN", "OUTCOME", "BECAUSE"], rows, `No run of ${name} waits that could move.`)
  const would = dryRun ? " would" : ""
  call.note(`${sums.moved}${would} move, ${sums.asked_again}${would} ask again, ${sums.stay} stay`)
}
