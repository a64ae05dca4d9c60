import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { atStrength } from "../../support/strength.ts"
import type { Hostile } from "../hostile-input.ts"
import type { Answer, HostileService } from "../hostile-service.ts"

// Strangers need no key to send a delivery: only the signature tells them from the sender.

/** At most 40 at a time, which take more room than deliveries have; 2,000 take more than the service has. */
const forged = atStrength(120, 2_000)
const secret = "a-secret-that-the-sender-knows"
const path = "/hooks/push/pushed"
const workflow = `
input { ref: string }
secrets { hook_secret: string }
webhook pushed {
    verify: github
    secret: secrets.hook_secret
    input { ref: body.ref }
}
output { ref: input.ref }
`

interface Delivery {
  readonly body: Buffer<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

function signed(content: unknown, by: string): Delivery {
  const body = Buffer.from(JSON.stringify(content))
  const signature = `sha256=${createHmac("sha256", by).update(body).digest("hex")}`
  return { body, headers: { "content-type": "application/json", "x-hub-signature-256": signature } }
}

function deliver(service: HostileService, { body, headers }: Delivery): Promise<Answer> {
  return service.send(path, { method: "POST", headers, body })
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-hooks-"))
process.once("exit", () => rmSync(folder, { recursive: true, force: true }))

export const deliveries: readonly Hostile[] = [
  {
    name: `${forged} forged deliveries of 1 MB, while the sender's own go on`,
    kinds: ["unauthorized", "overloaded", null],
    settings: { WIRE_WORKFLOWS: folder, WIRE_SECRET_HOOK_SECRET: secret, WIRE_TRIGGER_CALLER: "bob" },
    prepare: async (service) => {
      // Each attack has deliveries of its own: one that comes twice starts no run.
      let round = 0
      return async () => {
        const attack = round++
        const large = signed({ ref: "x".repeat(1_000_000) }, "a secret that somebody guessed")
        const answers: Answer[] = []
        let sent = 0
        const flood = async (): Promise<void> => {
          while (sent++ < forged) {
            const answer = await deliver(service, large)
            if (answer.kind === null) throw new Error("A forged delivery started a run")
            answers.push(answer)
          }
        }
        const sender = async (): Promise<void> => {
          for (let at = 0; at < 20; at++) {
            const answer = await deliver(service, signed({ ref: `${attack} ${at}` }, secret))
            if (answer.status !== 202) throw new Error(`The sender got ${answer.status}: ${answer.text}`)
            answers.push(answer)
          }
        }
        await Promise.all([sender(), ...Array.from({ length: 40 }, flood)])
        return answers
      }
    },
  },
]

writeFileSync(join(folder, "push.wire"), workflow)
