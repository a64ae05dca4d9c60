import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { analysisOf } from "./analysis.ts"
import type { Answers } from "./answers.ts"
import { answer } from "./answers.ts"
import { nodeAt, pathSpan } from "../../src/check/declared-places.ts"

const text = `input {
    /// Who is greeted
    name: string
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

agent greeter when length(input.name) > 0 {
    model: model.small
    instruction: "Greet {{ input.name }}."

    output {
        greeting: string
    }

    require length(result.greeting) > 0 else "Say something"
    require length(result.greeting) < 99 else "Be brief"
}

output {
    greeting: agent.greeter?.greeting ?? ""
}
`
const source = { text, file: "main.wire", modules: { "lib/other.wire": "" } }

/** The answer as it comes out of the worker. */
function ask<Name extends keyof Answers>(name: Name, ...asked: Parameters<Answers[Name]>): ReturnType<Answers[Name]> {
  const question = structuredClone({ id: 1, name, asked })
  return structuredClone(answer(question))
}

test("every answer leaves the worker as it is, and an analysis is the one that the page would make", () => {
  const [analysis] = ask("analyse", [source])
  assert.ok(analysis !== undefined)
  const { plan, ...rest } = analysis
  const { plan: made, ...own } = analysisOf(compile(text, source))
  assert.deepEqual(rest, structuredClone(own))
  assert.deepEqual(plan === undefined ? undefined : JSON.parse(plan), JSON.parse(JSON.stringify(made)))

  const at = text.indexOf("input.name") + "input.".length
  assert.deepEqual(
    ask("complete", source, at)?.items.map(({ label }) => label),
    ["name"],
  )
  assert.match(ask("hover", source, at)?.doc ?? "", /Who is greeted/)
  assert.match(ask("signatureHelp", source, text.indexOf("input.name)"))?.forms[0]?.label ?? "", /^length/)
  const { start } = ask("definition", source, at) ?? { start: 0 }
  assert.equal(start, text.indexOf("name: string"))
  assert.deepEqual(ask("prepareRename", source, at), { name: "name" })
  const renamed = ask("rename", source, at, "who")
  assert.equal("edits" in renamed && renamed.edits.length, text.split(/\bname\b/).length - 1)
  assert.deepEqual(ask("fixes", source), [])
  assert.equal(ask("reach", source).hosts[0]?.host, "demo")
})

test("every text can be analysed, whatever is in it, and however broken it is", () => {
  const root = dirname(dirname(import.meta.dirname))
  const paths = globSync(["examples/**/*.wire", "playground/examples/*.wire", "test/cases/check/*.wire"], { cwd: root })
  assert.ok(paths.length > 100, `${paths.length} texts`)
  for (const path of paths) {
    const whole = readFileSync(join(root, path), "utf8")
    for (const given of [whole, whole.slice(0, Math.floor(whole.length / 2))]) {
      const [analysis] = ask("analyse", [{ text: given }])
      assert.equal(analysis?.text, given, path)
    }
  }
})

test("a problem has its fixes, with the edits that they make", () => {
  const broken = { ...source, text: text.replace("model.small", "model.smal") }
  const [first = []] = ask("fixes", broken)
  assert.match(first[0]?.title ?? "", /model\.small/)
  assert.deepEqual(Object.keys(first[0]?.edits[0]?.span ?? {}), ["start", "end"])
})

test("steps are compared with those of an earlier text; without a plan there is nothing to compare", () => {
  const input = { before: { name: "Ada" }, after: { name: "Ada" } }
  const edited = { ...source, text: text.replace("Greet", "Welcome") }
  assert.equal(ask("changes", edited, source, input)?.get("agent.greeter")?.why, "Its text changed")
  assert.equal(ask("changes", source, source, input)?.get("agent.greeter")?.status, "same")
  assert.equal(ask("changes", { ...source, text: "agent" }, source, input), null)
})

test("places of steps and properties are found by their paths", () => {
  const { steps, places } = analysisOf(compile(text, source))
  const at = (path: string): string | undefined => {
    const span = pathSpan(places, path)
    return span && text.slice(span.start, span.end)
  }
  assert.equal(nodeAt(steps, text.indexOf("Greet")), "agent.greeter")
  assert.equal(nodeAt(steps, text.indexOf("provider")), undefined)
  assert.equal(steps.get("agent.greeter")?.condition, "length(input.name) > 0")
  assert.equal(at("agent.greeter"), "agent greeter")
  assert.equal(at("agent.greeter[3].model"), "model: model.small")
  assert.match(at("agent.greeter.require[1]") ?? "", /Be brief/)
  assert.equal(at("agent.greeter.gone.deep"), "agent greeter")
  assert.equal(at("agent.gone"), undefined)
})
