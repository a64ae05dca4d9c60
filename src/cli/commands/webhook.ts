import { parseInOrder } from "../../base/ordered-object.ts"
import { standardOutput } from "../terminal/screen.ts"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import type { Command } from "commander"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { visibleText } from "../../base/visible-text.ts"
import { asWritten } from "../../check/known-list.ts"
import { planTriggers, type WebhookPlan } from "../../plan/plan-triggers.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { WireworksClient, WireworksError } from "../../client/client.ts"
import { quoteText } from "../../source/quote-text.ts"
import { formatText } from "../../syntax/format.ts"
import { signedHeaders, whyUnusable } from "../../workflows/triggers/webhook-signature.ts"
import { deliveredInput } from "../../workflows/triggers/trigger-values.ts"
import { complain } from "../terminal/complain.ts"
import { whyUnreadable, whyUnwritable } from "./file-errors.ts"
import { compileWorkflow } from "./compile-workflow.ts"
import { CommandFailure, WrongValue } from "../terminal/command-failure.ts"
import { readText } from "./given-values.ts"

interface SendFlags {
  readonly body: string
  readonly secret: string
  readonly url?: string
  readonly as?: string
  readonly record?: true
}

export function webhookCommand(webhook: Command): void {
  webhook
    .command("send")
    .summary("sign a delivery and send it to a service")
    .description("Signs a body as the sender of a webhook would, and sends it to a service that serves the workflow.")
    .argument("<file>", "a workflow")
    .argument("<name>", "the name of its webhook")
    .requiredOption("--body <file>", "the body: a file with JSON")
    .requiredOption("--secret <name=env:VARIABLE>", "the secret that signs, from a variable, or name=file:PATH")
    .option("--url <url>", "address of the service (WIRE_URL, default http://127.0.0.1:13703)")
    .option("--as <workflow>", "the name that the service serves the workflow under; else that of the file")
    .option("--record", "add the input that the delivery makes to the workflow's test file")
    .addHelpText(
      "after",
      `
Example:
  wire webhook send push.wire pushed --body push.json --secret hook_secret=env:HOOK_SECRET

Exit code: 0 when the service took the delivery, 1 when it did not, 2 for a wrong command line.`,
    )
    .action(async (file: string, name: string, flags: SendFlags) => {
      process.exitCode = await send(file, name, flags)
    })
}

async function send(file: string, name: string, flags: SendFlags): Promise<number> {
  const { program } = compileWorkflow(file)
  const webhooks = planTriggers(program).filter((one) => one.kind === "webhook")
  const webhook = webhooks.find((one) => one.name === name)
  if (webhook === undefined) {
    const known = webhooks.map((one) => one.name).join(", ")
    throw new CommandFailure(`${file} has no webhook ${visibleText(name)}${known === "" ? "." : `: it has ${known}.`}`)
  }
  const body = readBytes(flags.body)
  const secret = readSecret(flags.secret, webhook)
  const headers = {
    "content-type": "application/json",
    ...signedHeaders(webhook.verify, body, secret, { id: `msg_${randomUUID()}`, at: Date.now() }),
  }
  if (flags.record === true) record(file, webhook, body, headers)
  const baseUrl = flags.url ?? (process.env["WIRE_URL"] || "http://127.0.0.1:13703")
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) {
    throw new WrongValue("--url must be an address such as http://127.0.0.1:13703.")
  }
  try {
    const workflow = flags.as ?? basename(file, ".wire")
    const delivery = { body: body.toString("utf8"), headers }
    const { status, text } = await new WireworksClient({ baseUrl }).deliver(workflow, name, delivery)
    standardOutput.print(`${status} ${visibleText(text)}`)
    return 0
  } catch (error) {
    if (!(error instanceof WireworksError) && !(error instanceof TypeError)) throw error
    throw new CommandFailure(
      error instanceof WireworksError ? `${error.status} ${visibleText(error.message)}` : error.message,
    )
  }
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new WrongValue(`${path} ${whyUnreadable(error)}.`)
  }
}

/** `name=env:VARIABLE`, `name=file:PATH` */
function readSecret(given: string, webhook: WebhookPlan): string {
  const [, name = "", from = "", where = ""] = /^(\w+)=(env|file):(.+)$/.exec(given) ?? []
  if (name === "") throw new WrongValue("--secret: write it as name=env:VARIABLE, or name=file:PATH.")
  if (!webhook.secrets.includes(name)) {
    throw new WrongValue(`--secret ${name}: the webhook is signed with ${webhook.secrets.join(", ")}.`)
  }
  const value = from === "env" ? process.env[where] : readText(where).trimEnd()
  const reason = whyUnusable(value === "" ? undefined : value, webhook.verify)
  if (value === undefined || reason !== null) throw new WrongValue(`--secret ${name}: it ${reason ?? "is missing"}.`)
  return value
}

/** Adds a test with the input that a delivery makes. */
function record(file: string, webhook: WebhookPlan, body: Buffer, headers: Record<string, string>): void {
  let input: JsonObject | null
  try {
    const parsed = parseInOrder(body.toString("utf8")) as JsonValue
    input = deliveredInput(webhook, { body: parsed, headers, query: {} })
  } catch (error) {
    throw new CommandFailure(error instanceof RunFailure ? error.message : "--record: the body is not JSON.")
  }
  if (input === null) {
    throw new CommandFailure("--record: `when` is false for this delivery, so that it starts no run.")
  }
  const path = file.replace(/\.wire$/, ".test.wire")
  try {
    const before = existsSync(path) ? readFileSync(path, "utf8") : `tests ${quoteText(`./${basename(file)}`)}\n`
    const fields = Object.entries(input).map(([name, value]) => `${asWritten(name)}: ${asSource(value)}\n`)
    const test = `\ntest ${quoteText(`a delivery to ${webhook.name}`)} {\ninput {\n${fields.join("")}}\n}\n`
    const formatted = formatText(before + test)
    writeFileSync(path, "formatted" in formatted ? formatted.formatted : before + test)
    complain(`Added a test to ${path}.`)
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error
    throw new CommandFailure(`${path} ${whyUnwritable(error)}.`)
  }
}

/** A value as the language writes it. */
function asSource(value: JsonValue): string {
  if (typeof value === "string") return quoteText(value)
  if (Array.isArray(value)) return `[${value.map(asSource).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([name, one]) => `${asWritten(name)}: ${asSource(one)}`)
    .join(", ")} }`
}
