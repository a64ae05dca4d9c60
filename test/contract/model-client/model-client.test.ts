import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { suite, test } from "node:test"
import type { TestContext } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { modelApis } from "../../../src/check/provider-kinds.ts"
import type { AssistantMessage, Message, UserMessage } from "../../../src/log/messages.ts"
import { userText } from "../../../src/log/messages.ts"
import type { Backend, ModelTurn, Reservation } from "../../../src/ports/model.ts"
import { askModel, redacting } from "../../support/ask-model.ts"
import type { Behaviour, FakeBackend, FakeReply } from "../../support/fake-backend.ts"
import { fakeBackend, json, raw } from "../../support/fake-backend.ts"
import { within } from "../../support/within.ts"
import type { Asked, Said, Voice } from "./voices.ts"
import { reply, sse, usage, voices } from "./voices.ts"

// What every API by which models are called has to keep. A backend on loopback speaks each of them.

const output = { message: "Hello, Ada.", tone: "warm" }
const good = JSON.stringify(output)
const tools = [
  {
    name: "search",
    description: "Searches.",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"], additionalProperties: false },
  },
]

interface Fake {
  readonly fake: FakeBackend
  readonly backend: Backend
  readonly asked: () => Asked[]
}

async function start(t: TestContext, voice: Voice, behave: Behaviour): Promise<Fake> {
  const fake = await fakeBackend(t, behave)
  // A name that does not look local: such backends get tools and a format in one request.
  const backend = { ...fake.remote, api: voice.api }
  return { fake, backend, asked: () => fake.asked.map((body) => voice.asked(body)) }
}

const isStream = (voice: Voice, { body, url }: { body: JsonObject; url: string }): boolean =>
  voice.api === "google" ? url.includes(":streamGenerateContent") : body["stream"] === true

/** Says the same, in the form that is asked for. */
const saying =
  (voice: Voice, said: Said): Behaviour =>
  (request) =>
    reply(voice, said, isStream(voice, request))

const inTurn =
  (voice: Voice, ...said: readonly Said[]): Behaviour =>
  (request, n) =>
    reply(voice, said[Math.min(n, said.length) - 1] ?? {}, isStream(voice, request))

function outputOf(turn: ModelTurn): unknown {
  return turn.kind === "output" ? turn.output : turn
}

/** The paths of all values of a body: `seed`, `generationConfig.topP`. */
function leaves(body: JsonObject, before = ""): string[] {
  return Object.entries(body).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? leaves(value, `${before}${name}.`)
      : [`${before}${name}`],
  )
}

for (const voice of voices) {
  suite(`model client: ${voice.api}`, () => {
    for (const deltas of [false, true]) {
      const how = deltas ? "streamed" : "whole"

      test(`${how}: text, its usage, the address and the key`, async (t) => {
        const { fake, backend } = await start(t, voice, saying(voice, { text: "They agreed on everything." }))
        const model = askModel(t)
        const turn = await model.ask({ backend, contract: null, deltas })
        assert.equal(turn.kind === "text" && turn.text, "They agreed on everything.")
        assert.deepEqual(turn.usage, { ...usage, cost: null })
        assert.equal(turn.calls.length, 1)
        assert.equal(turn.calls[0]?.format, "text")
        const [request] = fake.server.received
        assert.equal(request?.url, voice.url(deltas))
        assert.match(String(voice.key(request?.headers ?? {})), /test-key$/)
        const shown = model.deltas.map(({ text }) => text).join("")
        assert.equal(shown, deltas ? "They agreed on everything." : "")
        if (deltas) assert.ok(model.deltas.length > 1)
        assert.deepEqual(
          turn.message.parts.map(({ type }) => type),
          ["text"],
        )
      })

      test(`${how}: structured output by the API's own format`, async (t) => {
        const { backend, asked } = await start(t, voice, saying(voice, { text: good }))
        const turn = await askModel(t).ask({ backend, deltas })
        assert.deepEqual(outputOf(turn), output)
        assert.equal(asked()[0]?.format, "strict")
        assert.equal(turn.calls[0]?.format, "json_schema")
      })

      test(`${how}: an answer that does not fit is repaired`, async (t) => {
        const { backend, asked } = await start(t, voice, inTurn(voice, { text: '{"message":7}' }, { text: good }))
        const model = askModel(t)
        assert.deepEqual(outputOf(await model.ask({ backend, deltas })), output)
        const conversation = asked()[1]?.conversation ?? []
        assert.deepEqual(conversation.slice(0, 2), ["user: Greet Ada.", 'assistant: {"message":7}'])
        assert.match(
          conversation[2] ?? "",
          /^user: Your answer does not fit[\s\S]*message: expected string, found number 7/,
        )
        assert.equal(model.retries.length, 1)
        const never = await start(t, voice, saying(voice, { text: "no" }))
        const failure = await askModel(t).refuse({ backend: never.backend, deltas })
        assert.equal(failure.error.kind, "output_error")
        assert.equal(failure.answer, "no")
        assert.equal(never.fake.asked.length, 3)
      })

      test(`${how}: a tool loop with several calls in a turn`, async (t) => {
        const calls = [
          { id: "call_a", name: "search", args: { q: "Ada" } },
          { id: "call_b", name: "search", args: { q: "Bo" } },
        ]
        const { backend, asked } = await start(t, voice, inTurn(voice, { text: "Let me see.", calls }, { text: good }))
        const model = askModel(t)
        const user = userText("Greet Ada.")
        const first = await model.ask({ backend, tools, input: [user], deltas })
        assert.ok(first.kind === "tool_calls")
        assert.deepEqual(
          first.tool_calls.map(({ call_id, name, arguments: args }) => [call_id, name, JSON.parse(args)]),
          calls.map(({ id, name, args }) => [id, name, args]),
        )
        const results: Message[] = first.tool_calls.map(({ call_id, name }, at) => {
          return { role: "tool", call_id, name, output: `result ${at}` }
        })
        const input = [user, roundTrip(first.message), ...results]
        assert.deepEqual(outputOf(await model.ask({ backend, tools, input, turn: 2, deltas })), output)
        assert.deepEqual(asked()[0]?.tools, ["search"])
        assert.deepEqual(asked()[1]?.conversation, [
          "user: Greet Ada.",
          "assistant: Let me see.",
          'call: search call_a {"q":"Ada"}',
          'call: search call_b {"q":"Bo"}',
          "result: call_a result 0",
          "result: call_b result 1",
        ])
      })

      test(`${how}: reasoning goes back to the same backend and model, and to no other`, async (t) => {
        const calls = [{ id: "call_a", name: "search", args: { q: "Ada" } }]
        const { backend, asked } = await start(t, voice, inTurn(voice, { thought: "sealed", calls }, { text: good }))
        const model = askModel(t)
        const first = await model.ask({ backend, tools, input: [userText("Hi")], deltas })
        const result: Message = { role: "tool", call_id: "call_a", name: "search", output: "1" }
        const input = [userText("Hi"), roundTrip(first.message), result]
        await model.ask({ backend, tools, input, turn: 2, deltas })
        await model.ask({ backend, tools, input, model: "another", turn: 2, deltas })
        const thoughts = asked().map(({ conversation }) => conversation.filter((line) => line.startsWith("thought: ")))
        assert.deepEqual(thoughts, [[], ["thought: sealed"], []])
      })

      test(`${how}: an answer that breaks off is not one`, async (t) => {
        const { backend, fake } = await start(t, voice, saying(voice, { text: '{"message":"Hel', end: "length" }))
        const failure = await askModel(t).refuse({ backend, deltas })
        assert.equal(failure.error.kind, "provider_error")
        assert.match(failure.error.message, /incomplete \([\w]+\): a larger max_tokens may help/)
        assert.equal(fake.asked.length, 1)
      })

      test(`${how}: a refusal and a block are errors that say so`, async (t) => {
        for (const end of ["refusal", "blocked"] as const) {
          const { backend, fake } = await start(t, voice, saying(voice, { end }))
          const failure = await askModel(t).refuse({ backend, deltas })
          assert.equal(failure.error.kind, "provider_error")
          assert.match(failure.error.message, /refused to answer|blocked \(\w+\)|incomplete \(content_filter\)/)
          assert.equal(fake.asked.length, 1)
        }
      })

      test(`${how}: an error inside a 200 counts as its status`, async (t) => {
        const limited = json(voice.error(429, "Too many requests, the rate limit is reached"))
        const { backend } = await start(t, voice, (request, n) =>
          n === 1 ? limited : reply(voice, { text: good }, isStream(voice, request)),
        )
        const model = askModel(t)
        const turn = await model.ask({ backend, deltas })
        assert.deepEqual(outputOf(turn), output)
        assert.equal(turn.calls.length, 2)
      })

      test(`${how}: a secret that the backend echoes is replaced`, async (t) => {
        const secret = "sk-secret-0123456789"
        const { backend } = await start(
          t,
          voice,
          saying(voice, { text: `{"message":"Your key is ${secret}.","tone":"warm"}` }),
        )
        const model = askModel(t)
        const turn = await model.ask({ backend, deltas }, redacting(secret))
        assert.deepEqual(outputOf(turn), { message: "Your key is [secret:key].", tone: "warm" })
        const calling = await start(
          t,
          voice,
          saying(voice, { thought: secret, calls: [{ id: "call_a", name: "search", args: { q: secret } }] }),
        )
        const called = await model.ask({ backend: calling.backend, tools, deltas }, redacting(secret))
        assert.equal(JSON.stringify([turn, called, model.deltas]).includes(secret), false)
        const failing = await start(t, voice, () => json(voice.error(400, `The key ${secret} is not mine`), 400))
        const failure = await model.refuse({ backend: failing.backend, deltas }, redacting(secret))
        assert.equal(JSON.stringify(failure.error).includes(secret), false)
      })

      test(`${how}: what the backend answers in the other form is read all the same`, async (t) => {
        const { backend } = await start(t, voice, () => reply(voice, { text: good }, !deltas))
        assert.deepEqual(outputOf(await askModel(t).ask({ backend, deltas })), output)
      })
    }

    test("in a run with limits every call asks for room first, with all that it sends, and sends the bound that it gets", async (t) => {
      const picture = `data:image/png;base64,${"A".repeat(40_000)}`
      const input: Message[] = [
        {
          role: "user",
          parts: [
            { type: "text", text: "Grüße Ada. ".repeat(200) },
            { type: "image", url: picture },
          ],
        },
      ]
      for (const deltas of [false, true]) {
        const { fake, backend, asked } = await start(t, voice, inTurn(voice, { text: "no" }, { text: good }))
        const reserved: number[] = []
        const settled: [number | undefined, boolean][] = []
        const inference = { extra: { max_tokens: 9, max_completion_tokens: 9, max_output_tokens: 9 } }
        await askModel(t).ask(
          { backend, input, tools, system: "Be brief. ".repeat(50), deltas, inference },
          {
            reserve: (call) => {
              reserved.push(call.input_tokens)
              assert.equal(call.max_tokens, null)
              assert.equal(fake.asked.length, reserved.length - 1)
              return Promise.resolve({
                max_tokens: 700 + reserved.length,
                settle: (used, answered) => settled.push([used?.input_tokens, answered]),
              })
            },
          },
        )
        // Whatever `extra` says.
        assert.deepEqual(
          asked().map(({ max_tokens }) => max_tokens),
          [701, 702],
        )
        const bodies = fake.server.received.map(({ body }) =>
          Buffer.byteLength(body.replaceAll("A".repeat(40_000), "")),
        )
        for (const [index, bytes] of bodies.entries()) {
          const tokens = (reserved[index] ?? 0) - 2000
          // Those of the packages are known by their parts only.
          assert.ok(tokens > bytes / 2 - 200 && tokens < bytes / 2 + 400, `${tokens} tokens for ${bytes} bytes`)
        }
        assert.deepEqual(settled, [
          [10, true],
          [10, true],
        ])
        for (const body of fake.asked) {
          const bounds = JSON.stringify(body).match(/"max\w*okens":\d+/g) ?? []
          assert.equal(bounds.length, 1, bounds.join())
        }
      }
    })

    test("a bound that the run needs is not dropped when the backend refuses it", async (t) => {
      const { backend, fake } = await start(t, voice, () => json(voice.unknownField(voice.maxTokens), 400))
      const reserve = (): Promise<Reservation> => Promise.resolve({ max_tokens: 50, settle: () => undefined })
      const failure = await askModel(t).refuse({ backend }, { reserve })
      assert.equal(failure.error.kind, "provider_error")
      assert.equal(fake.asked.length, 1)
    })

    test("each step of the ladder, down to words alone", async (t) => {
      const { backend, asked } = await start(t, voice, (request) => {
        const { format } = voice.asked(request.body)
        if (format === null) return json(voice.says({ text: good }))
        return json(voice.refusesFormat(), 400)
      })
      const model = askModel(t)
      const turn = await model.ask({ backend })
      assert.deepEqual(outputOf(turn), output)
      assert.equal(turn.calls.at(-1)?.format, "instruction_only")
      const steps = asked().map(({ format }) => format)
      assert.equal(steps[0], "strict")
      assert.equal(steps.at(-1), null)
      assert.equal(new Set(steps).size, steps.length, `each once: ${String(steps)}`)
      assert.match(asked().at(-1)?.system ?? "", /JSON Schema/)
      const before = asked().length
      await model.ask({ backend })
      assert.deepEqual(
        asked()
          .slice(before)
          .map(({ format }) => format),
        [null],
        "it is remembered",
      )
    })

    test("a format that the author chose stays", async (t) => {
      const { backend, asked } = await start(t, voice, saying(voice, { text: "no" }))
      const failure = await askModel(t).refuse({ backend, response_format: "instruction_only" })
      assert.equal(failure.error.kind, "output_error")
      assert.deepEqual([...new Set(asked().map(({ format }) => format))], [null])
    })

    test("tools and a format that exclude each other: the tools first, then the format", async (t) => {
      const { backend, asked } = await start(t, voice, (request) => {
        const { format, tools: offered } = voice.asked(request.body)
        if (format !== null && offered.length > 0) {
          const message = "Function calling with a response mime type or response_format is unsupported with tools"
          return json(voice.error(400, message), 400)
        }
        return json(voice.says({ text: format === null ? "She is well." : good }))
      })
      const turn = await askModel(t).ask({ backend, tools })
      assert.deepEqual(outputOf(turn), output)
      const last = asked().at(-1)
      assert.deepEqual(last?.tools, [])
      assert.notEqual(last?.format, null)
    })

    test("a field that the backend does not take is left out, now and later", async (t) => {
      const field = voice.api === "google" ? "topP" : "top_p"
      const { backend, fake } = await start(t, voice, (request) =>
        JSON.stringify(request.body).includes(`"${field}"`)
          ? json(voice.unknownField(field), 400)
          : json(voice.says({ text: good })),
      )
      const model = askModel(t)
      for (let at = 0; at < 2; at++) await model.ask({ backend, inference: { top_p: 0.5, temperature: 0.25 } })
      assert.equal(fake.asked.length, 3)
      for (const body of fake.asked) assert.match(JSON.stringify(body), /"temperature":0.25/)
    })

    test("every setting that a model refuses is left out, which costs one call, once", async (t) => {
      const settings = {
        temperature: 0.25,
        top_p: 0.5,
        top_k: 7,
        frequency_penalty: 0.125,
        presence_penalty: 0.375,
        repeat_penalty: 1.5,
        seed: 42,
        stop: "END",
        reasoning_effort: "low",
        verbosity: "low",
      } as const
      let refused: string | null = null
      const { backend, fake } = await start(t, voice, ({ body }) =>
        refused !== null && leaves(body).includes(refused)
          ? json(voice.unknownField(voice.api === "google" ? (refused.split(".").at(-1) ?? "") : refused), 400)
          : json(voice.says({ text: good })),
      )
      await askModel(t).ask({ backend })
      const plain = leaves(fake.asked.at(-1) ?? {})
      const sent: string[] = []
      for (const [name, value] of Object.entries(settings)) {
        const inference = { [name]: value }
        refused = null
        await askModel(t).ask({ backend, inference })
        const [field] = leaves(fake.asked.at(-1) ?? {}).filter((leaf) => !plain.includes(leaf))
        if (field === undefined) continue
        sent.push(name)
        refused = field
        const model = askModel(t)
        const before = fake.asked.length
        for (let at = 0; at < 3; at++) assert.deepEqual(outputOf(await model.ask({ backend, inference })), output)
        assert.equal(fake.asked.length - before, 4, `${name} as ${field}`)
      }
      assert.ok(sent.length >= 5, sent.join())
    })

    test("two settings that exclude each other: one is left out beside the other, and sent alone", async (t) => {
      const [one, other] = voice.api === "google" ? ["temperature", "topP"] : ["temperature", "top_p"]
      const { backend, fake } = await start(t, voice, ({ body }) => {
        const text = JSON.stringify(body)
        return text.includes(`"${one}"`) && text.includes(`"${other}"`)
          ? json(
              voice.error(
                400,
                `\`${one}\` and \`${other}\` cannot both be specified for this model. Please use only one.`,
              ),
              400,
            )
          : json(voice.says({ text: good }))
      })
      const model = askModel(t)
      for (let at = 0; at < 2; at++) await model.ask({ backend, inference: { temperature: 0.25, top_p: 0.5 } })
      await model.ask({ backend, inference: { top_p: 0.5 } })
      const sent = fake.asked.map((body) => /"temperature":0.25/.test(JSON.stringify(body)))
      assert.deepEqual(sent, [true, true, true, false])
      assert.match(JSON.stringify(fake.asked.at(-1)), new RegExp(`"${other}":0.5`))
    })

    test("the system text is sent the API's way, and extra changes nothing that is the service's", async (t) => {
      const { backend, fake, asked } = await start(t, voice, saying(voice, { text: good }))
      const extra = {
        model: "evil",
        messages: "evil",
        contents: "evil",
        input: "evil",
        tools: "evil",
        stream: "evil",
        user: "ada",
      }
      await askModel(t).ask({ backend, system: "Be brief.", inference: { extra, max_tokens: 123 } })
      const [request] = asked()
      assert.equal(request?.system, "Be brief.")
      assert.deepEqual(request.conversation, ["user: Greet Ada."])
      assert.equal(request.max_tokens, 123)
      assert.equal(fake.asked[0]?.["user"], "ada")
      const sent = { ...fake.asked[0] }
      for (const own of ["model", "messages", "contents", "input", "tools", "stream"]) {
        if (sent[own] === "evil") assert.ok(!(own in voice.says({})), own)
      }
      assert.deepEqual(request.tools, [])
    })

    test("images, documents and files", async (t) => {
      const { backend, asked } = await start(t, voice, saying(voice, { text: good }))
      const message: Message = {
        role: "user",
        parts: [
          { type: "text", text: "Look" },
          { type: "image", url: "data:image/png;base64,AAAA" },
          { type: "document", url: "data:application/pdf;base64,BBBB", name: "a.pdf" },
          {
            type: "document",
            url: `data:text/plain;base64,${Buffer.from("some notes").toString("base64")}`,
            name: "n.txt",
          },
        ],
      }
      await askModel(t).ask({ backend, input: [message] })
      const conversation = asked()[0]?.conversation ?? []
      assert.deepEqual(conversation.slice(0, 3), [
        "user: Look",
        "image: data:image/png;base64,AAAA",
        "file: data:application/pdf;base64,BBBB",
      ])
      const file = conversation[3]?.replace(/^file: data:text\/plain;base64,/, "") ?? ""
      assert.match(`${file} ${Buffer.from(file, "base64").toString()}`, /some notes/)
    })

    if (modelApis[voice.api].takesAudio) {
      test("audio", async (t) => {
        const { backend, asked } = await start(t, voice, saying(voice, { text: good }))
        const parts: UserMessage["parts"] = [
          { type: "text", text: "Listen" },
          { type: "audio", url: "data:audio/wav;base64,UklGRg==", name: null },
          { type: "audio", url: "data:audio/mp3;base64,SUQz", name: "b.mp3" },
        ]
        await askModel(t).ask({ backend, input: [{ role: "user", parts }] })
        assert.deepEqual(asked()[0]?.conversation.slice(0, 3), [
          "user: Listen",
          "file: data:audio/wav;base64,UklGRg==",
          "file: data:audio/mp3;base64,SUQz",
        ])
      })
    }

    test("what every other API has said can be continued, with ids that this one takes", async (t) => {
      for (const other of voices) {
        if (other === voice) continue
        const id = "toolu:01/with.strange+characters_and_a_length_that_is_more_than_sixty_four_characters_long"
        const calls = [{ id, name: "search", args: { q: "Ada" } }]
        const theirs = await start(t, other, saying(other, { text: "Well.", thought: "sealed", calls }))
        const ours = await start(t, voice, saying(voice, { text: good }))
        const model = askModel(t)
        const first = await model.ask({ backend: theirs.backend, tools, input: [userText("Hi")] })
        const result: Message = { role: "tool", call_id: id, name: "search", output: "1" }
        const input = [userText("Hi"), roundTrip(first.message), result]
        assert.deepEqual(outputOf(await model.ask({ backend: ours.backend, tools, input, turn: 2 })), output)
        const conversation = ours.asked()[0]?.conversation ?? []
        assert.equal(JSON.stringify(ours.fake.asked).includes("sealed"), false)
        const call = /^call: search (\S+) \{"q":"Ada"\}$/.exec(conversation[2] ?? "")?.[1]
        assert.equal(conversation[1], "assistant: Well.")
        assert.equal(conversation[3], `result: ${call} 1`)
        if (voice.api === "anthropic") assert.match(call ?? "", /^[A-Za-z0-9_-]{1,64}$/)
        if (voice.api === "chat") assert.ok((call ?? "").length <= 40)
      }
    })

    test("failures in passing are retried as the backend asks", async (t) => {
      const date = new Date(Date.now() + 20_000).toUTCString()
      const waits: [number, Record<string, string>][] = [
        [429, { "retry-after": "7" }],
        [503, { "retry-after": date }],
        [529, {}],
      ]
      const { backend, fake } = await start(t, voice, (_, n) => {
        const [status, headers] = waits[n - 1] ?? [200, {}]
        if (status === 200) return json(voice.says({ text: good }))
        return json(voice.error(status, "Overloaded"), status, headers)
      })
      const model = askModel(t)
      const turn = await model.ask({ backend })
      assert.deepEqual(outputOf(turn), output)
      assert.equal(fake.asked.length, 4)
      assert.equal(model.slept[0], 7000)
      assert.ok((model.slept[1] ?? 0) > 15_000 && (model.slept[1] ?? 0) <= 20_000)
      assert.equal(turn.calls.length, 4)
      const never = await start(t, voice, () => json(voice.error(500, "Broken"), 500))
      const failure = await askModel(t).refuse({ backend: never.backend })
      assert.equal(failure.error.issues[0]?.upstream_status, 500)
      assert.match(failure.error.message, /answered 500.*after 4 attempts/)
    })

    test("other errors are final, and say what the backend said", async (t) => {
      const { backend, fake } = await start(t, voice, () => json(voice.error(404, "No such model: test-model"), 404))
      const failure = await askModel(t).refuse({ backend })
      assert.equal(failure.error.kind, "provider_error")
      assert.match(failure.error.message, /answered 404.*No such model/)
      assert.equal(fake.asked.length, 1)
    })

    test("a stream that is cut, ends early, or holds an error is asked for again", async (t) => {
      const events = voice.streams({ text: good })
      const half = events.slice(0, 3)
      const failures: FakeReply[] = [
        sse(voice, half, "cut"),
        sse(voice, half, "end"),
        sse(voice, [...half, { type: "error", ...voice.error(529, "Overloaded") }], "end"),
      ]
      const { backend, fake } = await start(
        t,
        voice,
        (request, n) => failures[n - 1] ?? saying(voice, { text: good })(request, n),
      )
      const model = askModel(t)
      assert.deepEqual(outputOf(await model.ask({ backend, deltas: true })), output)
      assert.equal(fake.asked.length, 4)
      assert.deepEqual([...new Set(model.deltas.map(({ attempt }) => attempt))].includes(4), true)
    })

    test("the four limits of time", async (t) => {
      const silent = await start(t, voice, () => () => undefined)
      const late = askModel(t, { limits: { firstByteMs: 80 } })
      assert.equal((await late.refuse({ backend: silent.backend })).error.kind, "timeout")
      const mute = await start(t, voice, () => sse(voice, voice.streams({ text: good }).slice(0, 2), "open"))
      const quiet = askModel(t, { limits: { silenceMs: 80 } })
      assert.equal((await quiet.refuse({ backend: mute.backend, deltas: true })).error.kind, "timeout")
      const long = askModel(t, { limits: { totalMs: 80, silenceMs: 60_000 } })
      assert.equal((await long.refuse({ backend: mute.backend, deltas: true })).error.kind, "timeout")
      const far = askModel(t, {}, { connectMs: 50, resolve: () => new Promise(() => {}) })
      const backend = { ...silent.backend, endpoint: "http://slow.test/v1" }
      assert.equal((await far.refuse({ backend })).error.kind, "timeout")
    })

    for (const deltas of [false, true]) {
      test(`cancelling closes the socket (${deltas ? "streamed" : "whole"})`, async (t) => {
        let closed: Promise<unknown> | undefined
        const begun = Promise.withResolvers<void>()
        const { backend } = await start(t, voice, () => (response, request) => {
          closed = new Promise((resolve) => request.socket.once("close", resolve))
          if (deltas) sse(voice, voice.streams({ text: good }).slice(0, 2), "open")(response, request)
          begun.resolve()
        })
        const stop = new AbortController()
        const asking = askModel(t).ask({ backend, deltas }, { signal: stop.signal })
        const ended = assert.rejects(asking)
        await within(30_000, "the request", begun.promise)
        stop.abort(new Error("cancelled"))
        await within(30_000, "the rejection", ended)
        await within(30_000, "the end of the connection", closed ?? Promise.reject(new Error("no request")))
      })
    }

    test("a backend of another kind: the error says which one to use", async (t) => {
      const other = voices.find(({ api }) => api === (voice.api === "chat" ? "responses" : "chat")) ?? assert.fail()
      const { backend } = await start(t, voice, () => json(other.says({ text: good })))
      const failure = await askModel(t).refuse({ backend })
      assert.equal(failure.error.kind, "provider_error")
      assert.match(failure.error.message, voice.api === "chat" ? /`openai`/ : /`openai_chat`/)
      const absent = await start(t, voice, () => raw("404 page not found", "text/plain", 404))
      const missing = await askModel(t).refuse({ backend: absent.backend })
      assert.match(
        missing.error.message,
        voice.api === "chat" ? /answered 404.*`openai`/ : /answered 404.*`openai_chat`/,
      )
      assert.equal(missing.error.issues[0]?.upstream_status, 404)
      const { origin } = new URL(absent.backend.endpoint)
      assert.ok(missing.error.message.includes(` at ${origin}/`), missing.error.message)
    })

    test("egress refuses a forbidden destination", async (t) => {
      const backend = { api: voice.api, endpoint: "http://10.0.0.1/v1", api_key: null, headers: {} }
      const failure = await askModel(t, {}, { policy: { kind: "public" } }).refuse({ backend })
      assert.equal(failure.error.kind, "blocked_destination")
      assert.equal(failure.error.issues[0]?.path, "agent.reply")
    })
  })
}

/** As the log keeps it. */
function roundTrip(message: AssistantMessage): AssistantMessage {
  return JSON.parse(JSON.stringify(message)) as AssistantMessage
}
