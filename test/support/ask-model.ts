import { openGate } from "../../src/ports/gate.ts"
import type { TestContext } from "node:test"
import type { EgressOptions } from "../../src/adapters/egress/egress.ts"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import type { ModelClientOptions } from "../../src/adapters/model-turn/model-client.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { RecordType } from "../../src/types/types.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { ModelClient, ModelRequest, ModelTurn, ModelWatch } from "../../src/ports/model.ts"
import type { TurnProgress } from "../../src/log/turn-progress.ts"
import { userText } from "../../src/log/messages.ts"
import { RunFailure } from "../../src/ports/run-failure.ts"
import { joinProgress } from "../../src/log/turn-progress.ts"
import { redactor } from "../../src/run/secrets/redact.ts"

export interface Retry {
  readonly attempt: number
  readonly reason: string
  readonly delay_ms: number
}

/** A model client on real egress that writes its waits down instead of waiting. */
export interface AskModel {
  readonly client: ModelClient
  readonly retries: Retry[]
  /** How far the turn had come with each retry. */
  readonly progresses: TurnProgress[]
  readonly deltas: { readonly attempt: number; readonly text: string }[]
  readonly slept: number[]
  ask(request: Partial<ModelRequest> & Pick<ModelRequest, "backend">, watch?: Partial<ModelWatch>): Promise<ModelTurn>
  /** The failure of a turn that has to fail. */
  refuse(
    request: Partial<ModelRequest> & Pick<ModelRequest, "backend">,
    watch?: Partial<ModelWatch>,
  ): Promise<RunFailure>
}

export function askModel(
  t: TestContext,
  options: Partial<ModelClientOptions> = {},
  egressOptions: Partial<EgressOptions> = {},
): AskModel {
  const egress = createEgress({
    policy: { kind: "private" },
    resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
    ...egressOptions,
  })
  t.after(() => egress.close())
  const slept: number[] = []
  const retries: Retry[] = []
  const progresses: TurnProgress[] = []
  const deltas: { attempt: number; text: string }[] = []
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms, signal) => {
      slept.push(ms)
      signal.throwIfAborted()
      return Promise.resolve()
    },
  }
  const client = createModelClient({
    api: modelApi,
    egress,
    clock,
    random: { id: () => "id", fraction: () => 0.5 },
    demo: null,
    ...options,
  })
  const never = new AbortController().signal
  const asked: AskModel = {
    client,
    retries,
    progresses,
    deltas,
    slept,
    ask: (request, watch) =>
      client.turn(
        {
          run_id: "r",
          caller: "tester",
          path: "agent.reply",
          model: "test-model",
          name: "m",
          provider: "openai",
          price: null,
          system: null,
          input: [userText("Greet Ada.")],
          tools: [],
          contract: { name: "reply", type: message, types: {} },
          response_format: "auto",
          inference: {},
          turn: 1,
          attempts_before: 0,
          progress: null,
          deltas: false,
          ...request,
        },
        {
          signal: never,
          now: () => clock.now(),
          gate: openGate,
          retried: ({ progress, ...retry }) => {
            retries.push(retry)
            progresses.push(joinProgress(progresses.at(-1) ?? request.progress ?? null, progress))
            return Promise.resolve()
          },
          delta: (attempt, text) => deltas.push({ attempt, text }),
          redact: <T extends JsonValue>(value: T): T => value,
          redactStream: () => redactor({}).stream(),
          ...watch,
        },
      ),
    refuse: async (request, watch) => {
      const error = await asked.ask(request, watch).then(
        (turn) => new Error(`It answered: ${JSON.stringify(turn)}`),
        (reason: unknown) => reason,
      )
      if (error instanceof RunFailure) return error
      throw error
    },
  }
  return asked
}

const message: RecordType = {
  kind: "record",
  fields: [
    { name: "message", type: { kind: "string" } },
    { name: "tone", type: { kind: "enum", values: ["warm", "cool"] } },
  ],
}

/** Redaction of one secret, as the engine does it. */
export function redacting(secret: string, name = "key"): Pick<ModelWatch, "redact" | "redactStream"> {
  const { redact, stream } = redactor({ [name]: secret })
  return { redact, redactStream: stream }
}
