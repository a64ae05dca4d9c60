import type { Command } from "commander"
import { visibleJson, visibleText } from "../../base/visible-text.ts"
import { count } from "../terminal/count.ts"
import { Output } from "../terminal/terminal.ts"
import { CommandFailure } from "../terminal/command-failure.ts"

export function auditCommand(audit: Command): void {
  audit.description("Checks the audit trail that the service writes with WIRE_AUDIT_FILE.")
  audit
    .command("verify")
    .summary("report the first line that does not fit")
    .description(
      "Follows the hashes of an audit file from its first line, and names the first line that does not fit the one before it.\n" +
        "Lines that were removed from the end cannot be noticed: compare the last hash with one that you noted before.",
    )
    .argument("<file>", "the file of WIRE_AUDIT_FILE")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Examples:
  wire audit verify /var/log/wireworks/audit.jsonl
  wire audit verify audit.jsonl --json | jq -r .hash

Exit code: 0 when all lines fit, 1 when one does not or the file cannot be read, 2 for a wrong command line.`,
    )
    .action(async (path: string, { json }: { json?: true }) => {
      const output = new Output()
      const { verifyAudit } = await import("../compose/audit.ts")
      let report: Awaited<ReturnType<typeof verifyAudit>>
      try {
        report = await verifyAudit(path)
      } catch (error) {
        if (!(error instanceof Error) || !("code" in error)) throw error
        throw new CommandFailure(visibleText(`${path} cannot be read (${String(error.code)}).`))
      }
      const { lines, lost, hash, problem } = report
      if (problem !== null) process.exitCode = 1
      if (json === true) {
        output.out(visibleJson(report))
        return
      }
      if (problem !== null) output.err(visibleText(`${path}:${problem.line}: ${problem.message}.`))
      const fit = problem === null ? `All ${count(lines, "line")} fit.` : `${count(lines, "line")} before it fit.`
      const missing = lost === 0 ? "" : ` ${count(lost, "line")} could not be written at the time.`
      output.out(`${fit}${missing} Last hash: ${hash}`)
    })
}
