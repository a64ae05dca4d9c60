import type { Command } from "commander"
import type { JsonValue } from "../../base/json-value.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { callService, type ServiceCall, type ServiceFlags } from "./service-call.ts"

interface SendFlags extends ServiceFlags {
  /** The event's. */
  readonly key?: string
  /** The caller's. */
  readonly apiKey?: string
  readonly data?: string
  readonly id?: string
  readonly keepSeconds?: string
}

export function eventsCommand(events: Command): void {
  events.description("Sends events to runs that wait for them.")
  events
    .command("send")
    .description("Sends an event to every run of yours that waits for that name and key.")
    .argument("<name>", "the name of the event")
    .option("--key <key>", "which event of that name; empty unless given")
    .option("--data <json>", "what the waits take, as JSON; null unless given")
    .option("--id <id>", "the same id within 30 days has no second effect")
    .option("--keep-seconds <n>", "how long it is kept when no open wait takes it, at most 604800")
    .option("--url <url>", "address of the service (WIRE_URL, default http://127.0.0.1:13703)")
    .option("--api-key <key>", "key of a caller (WIRE_KEY)")
    .option("--json", "print JSON, as where the output is not a terminal")
    .addHelpText(
      "after",
      `
Examples:
  wire events send payment.settled --key A-17 --data '{"status":"settled","amount":5}'
  wire events send payment.settled --key A-17 --data '{"status":"settled","amount":5}' --keep-seconds 3600

Exit code: 0 when it is stored, 1 when the service refuses it or cannot be reached, 2 for a wrong command line.`,
    )
    .action((name: string, flags: SendFlags) => {
      const { url, apiKey, json } = flags
      const service = { ...(url && { url }), ...(apiKey && { key: apiKey }), ...(json && { json }) }
      return callService(service, (call) => sendEvent(call, name, flags))
    })
}

async function sendEvent(call: ServiceCall, name: string, flags: SendFlags): Promise<void> {
  const { key, data, id, keepSeconds } = flags
  const answer = await call.client.sendEvent({
    name,
    ...(key !== undefined && { key }),
    ...(data !== undefined && { data: readData(data) }),
    ...(id !== undefined && { id }),
    ...(keepSeconds !== undefined && { keep_seconds: readSeconds(keepSeconds) }),
  })
  const { delivered, kept } = answer
  const sentence = kept
    ? "No run waits for it: it is kept."
    : `${delivered} ${delivered === 1 ? "wait" : "waits"} took it.`
  call.print(answer, () => [sentence])
}

function readData(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    throw new WrongValue("--data must be JSON.")
  }
}

function readSeconds(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new WrongValue(`--keep-seconds is "${text}": it must be a whole number from 0 to 604800.`)
}
