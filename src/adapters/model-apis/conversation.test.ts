import assert from "node:assert/strict"
import { test } from "node:test"
import type { Message } from "../../log/messages.ts"
import { toTurns } from "./conversation.ts"

const options = {
  own: () => null,
  takesId: (id: string) => /^\w{1,20}$/.test(id),
  idLength: 12,
  documentOptions: [],
}

const call = (call_id: string): Message => ({
  role: "assistant",
  parts: [{ type: "tool_call", call_id, name: "look", arguments: "{}" }],
})
const result = (call_id: string, output: string): Message => ({ role: "tool", call_id, name: "look", output })

/** `call id`, `result id output`, in their order. */
function idsIn(messages: readonly Message[]): string[] {
  return toTurns(messages, options).flatMap((turn) => {
    if (turn.role === "tool") return turn.results.map(({ id, output }) => `result ${id} ${output}`)
    return turn.parts.flatMap((part) => (part.type === "call" ? [`call ${part.id}`] : []))
  })
}

test("ids that are taken stay; an id that comes again in a later turn gets one of its own", () => {
  const [first, one, second, two] = idsIn([
    call("call_1"),
    result("call_1", "a"),
    call("call_1"),
    result("call_1", "b"),
  ])
  assert.deepEqual([first, one], ["call call_1", "result call_1 a"])
  const id = second?.replace("call ", "") ?? ""
  assert.notEqual(id, "call_1")
  assert.match(id, /^\w{1,12}$/)
  assert.equal(two, `result ${id} b`)
})

test("the same id twice in one turn: results in the order of the calls", () => {
  const [message] = [call("x")]
  const twice: Message = {
    role: "assistant",
    parts: message?.role === "assistant" ? [...message.parts, ...message.parts] : [],
  }
  const [a, b, resultA, resultB] = idsIn([twice, result("x", "1"), result("x", "2")])
  assert.notEqual(a, b)
  assert.equal(resultA, `result ${a?.replace("call ", "")} 1`)
  assert.equal(resultB, `result ${b?.replace("call ", "")} 2`)
})

test("an id that the API does not take gets the same one for call and result, every time", () => {
  const conversation = [call("strange:id/1"), result("strange:id/1", "a")]
  const [sent, answered] = idsIn(conversation)
  assert.match(sent ?? "", /^call \w{1,12}$/)
  assert.equal(answered, `result ${sent?.replace("call ", "")} a`)
  assert.deepEqual(idsIn(conversation), [sent, answered])
})

test("addresses get the media type of their ending, data URLs their own, and files of text become text", () => {
  const message: Message = {
    role: "user",
    parts: [
      { type: "image", url: "https://x.test/a.JPG?size=1" },
      { type: "document", url: "https://x.test/report", name: "r" },
      { type: "video", url: "data:video/webm;base64,AAAA", name: null },
      { type: "document", url: "data:application/json;base64,e30=", name: "d.json" },
      { type: "document", url: "data:,plain%20text", name: null },
    ],
  }
  const [prompt] = toTurns([message], options)
  assert.ok(prompt?.role === "user")
  assert.deepEqual(
    prompt.parts.map((part) => (part.type === "text" ? part.text : [part.media_type, part.name])),
    [["image/jpeg", null], ["application/pdf", "r"], ["video/webm", null], "File d.json:\n{}", "plain text"],
  )
})

test("arguments that are not an object are sent as none", () => {
  const [prompt] = toTurns(
    [{ role: "assistant", parts: [{ type: "tool_call", call_id: "c", name: "n", arguments: "{broken" }] }],
    options,
  )
  assert.ok(prompt?.role === "assistant")
  assert.deepEqual(
    prompt.parts.map((part) => (part.type === "call" ? part.arguments : null)),
    [{}],
  )
})

test("what is said of a document goes to the API that has such options, text as a document too", () => {
  const about = { context: "By Ada.", citations: true } as const
  const parts = [
    { type: "document", url: "data:text/plain;base64,aGk=", name: "a.txt", ...about },
    { type: "document", url: "https://x.test/b.pdf", name: null, ...about },
    { type: "document", url: "data:application/pdf;base64,AAAA", name: "c", context: "By Bo." },
  ] as const
  const sent = (documentOptions: readonly string[]): unknown[] => {
    const [prompt] = toTurns([{ role: "user", parts }], { ...options, documentOptions })
    return prompt?.role === "user"
      ? prompt.parts.map((part) => (part.type === "file" ? [part.context ?? null, part.citations ?? null] : part.text))
      : []
  }
  assert.deepEqual(sent(["context", "citations"]), [
    ["By Ada.", true],
    ["By Ada.", true],
    ["By Bo.", null],
  ])
  assert.deepEqual(sent([]), ["File a.txt:\nhi", [null, null], [null, null]])
})
