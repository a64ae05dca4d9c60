import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { EverythingServer } from "../support/everything-server.ts"
import { startEverything } from "../support/everything-server.ts"
import { dataOf, errorOf, resultOf, typesOf } from "../support/run-plan.ts"
import type { Hosting } from "../support/run-source.ts"
import { hosting, preamble } from "../support/run-source.ts"
import { answers, callsTools, ScriptedModel, textOf } from "../support/scripted-model.ts"

for (const transport of ["streamableHttp", "sse"] as const) {
  describe(`server-everything over ${transport}`, () => {
    let server: EverythingServer
    let here: Hosting
    before(async () => {
      here = hosting()
      server = await startEverything(transport)
    })
    after(async () => {
      await here.close()
      await server.stop()
    })

    test("a workflow calls, reads and renders, at the top, in an agent and in its output", async () => {
      const model = new ScriptedModel((request) => answers({ message: "ok" }, request))
      const outcome = await here.run(
        `${preamble(server.url)}
        input { city: enum { "New York", Chicago } a: integer }
        tool sum from mcp.s.tool.get-sum { bindings { b: 40 } }
        tool weather from mcp.s.tool.get-structured-content
        tool image from mcp.s.tool.get-tiny-image
        tool links from mcp.s.tool.get-resource-links
        tool reference from mcp.s.tool.get-resource-reference
        resource text from mcp.s.resource."Dynamic Text Resource"
        resource blob from mcp.s.resource."demo://resource/dynamic/blob/{resourceId}"
        prompt simple from mcp.s.prompt.simple-prompt
        prompt args from mcp.s.prompt.args-prompt { bindings { city: input.city } }
        dynamic {
            sum: call tool.sum { input { a: input.a } }
            weather: call tool.weather { input { location: input.city } }
            image: call tool.image
            links: call tool.links { input { count: 2 } }
            reference: call tool.reference { input { resourceId: 3 } }
            text: read resource.text { bindings { resourceId: "7" } }
            blob: read resource.blob { bindings { resourceId: 1 } }
            args: render prompt.args { bindings { state: "NY" } }
        }
        agent writer {
            model: model.m
            dynamic { local: call tool.sum { input { a: 1 } } }
            instruction: "{{ dynamic.local }} {{ dynamic.sum }}"
            output { message: string }
        }
        output {
            message: agent.writer.message
            sum: dynamic.sum
            temperature: dynamic.weather.temperature
            links: dynamic.links[1].uri
            kinds: dynamic.reference.*.type
            image: dynamic.image
            text: dynamic.text
            blob: dynamic.blob
            args: dynamic.args
            simple: render prompt.simple
        }`,
        { input: { city: "Chicago", a: 2 }, model },
      )
      const result = resultOf(outcome) as Record<string, unknown>
      assert.equal(result["sum"], "The sum of 2 and 40 is 42.")
      assert.equal(result["temperature"], 36)
      assert.match(String(result["links"]), /^demo:\/\/resource\/dynamic\/blob\/1$/)
      assert.deepEqual(result["kinds"], ["text", "resource", "text"])
      const image = result["image"] as { type: string; url?: string }[]
      assert.deepEqual(
        image.map(({ type }) => type),
        ["text", "image", "text"],
      )
      assert.match(image[1]?.url ?? "", /^data:image\/png;base64,iVBOR/)
      assert.match(String(result["text"]), /^Resource 7: This is a plaintext resource/)
      assert.match(String(result["blob"]), /^data:[\w/-]+;base64,/)
      assert.match(String(result["args"]), /weather in Chicago, NY/)
      assert.match(String(result["simple"]), /simple prompt/)
      assert.equal(textOf(model.requests[0]?.input.at(-1)), "The sum of 1 and 40 is 41. The sum of 2 and 40 is 42.")

      const { events } = outcome
      const [connected] = dataOf(events, "mcp_server_connected")
      assert.equal(connected?.server, "s")
      assert.match(connected?.protocol ?? "", /^20\d\d-\d\d-\d\d$/)
      assert.ok(connected?.tools.includes("get-sum"))
      const local = dataOf(events, "tool_call_started").find(({ agent }) => agent === "writer")
      assert.deepEqual(local?.arguments, { a: 1, b: 40 })
      assert.equal(local?.dynamic, "local")
      const completed = dataOf(events, "tool_call_completed").find(({ call_id }) => call_id === local?.call_id)
      assert.equal(completed?.result, "The sum of 1 and 40 is 41.")
      assert.deepEqual(
        dataOf(events, "resource_read")
          .map(({ name }) => name)
          .toSorted(),
        ["blob", "text"],
      )
      assert.deepEqual(
        dataOf(events, "prompt_rendered")
          .map(({ name }) => name)
          .toSorted(),
        ["args", "simple"],
      )
    })

    test("a model calls tools side by side, gets an error for wrong arguments, and sees images", async () => {
      const model = new ScriptedModel((request) => {
        if (request.turn === 1) {
          return callsTools(
            [
              { name: "sum", arguments: { a: 1, b: 999 } },
              { name: "sum", arguments: { a: "one" } },
              { name: "tiny", arguments: {} },
              { name: "read_text", arguments: { resourceId: "4" } },
              { name: "annotated", arguments: { messageType: "nonsense" } },
            ],
            request,
          )
        }
        return answers({ message: "done" }, request)
      })
      const outcome = await here.run(
        `${preamble(server.url)}
        from mcp.s {
            max_calls: 3
            tool get-sum as sum { bindings { b: 40 } description: "Adds forty" }
            tool get-tiny-image as tiny
            tool get-annotated-message as annotated
            resource "Dynamic Text Resource" as text
            prompt args-prompt as args { bindings { city: "Bern" } }
        }
        agent a {
            model: model.m
            uses: [tool.sum { max_calls: 1 }, tool.tiny, tool.annotated, resource.text, prompt.args]
            instruction: "Go."
            output { message: string }
        }
        output { m: agent.a.message }`,
        { model },
      )
      assert.deepEqual(resultOf(outcome), { m: "done" })
      const [first, second] = model.requests
      assert.deepEqual(
        first?.tools.map(({ name, description }) => [name, description.split("\n")[0]]),
        [
          ["sum", "Adds forty"],
          ["tiny", "Returns a tiny MCP logo image."],
          ["annotated", "Demonstrates how annotations can be used to provide metadata about content."],
          [
            "read_text",
            "Reads text: Plaintext dynamic resource fabricated from the {resourceId} variable, which must be an integer.",
          ],
        ],
      )
      const sum = first?.tools[0]?.parameters
      assert.deepEqual(Object.keys(sum?.["properties"] ?? {}), ["a"])
      assert.deepEqual(sum?.["required"], ["a"])
      assert.match(JSON.stringify(first?.input[0]), /weather in Bern/)
      const said = (second?.input ?? []).filter(({ role }) => role === "tool").map(textOf)
      assert.equal(said[0], "The sum of 1 and 40 is 41.", "a bound argument is out of the model's reach")
      assert.match(said[1] ?? "", /The arguments do not fit:\n- a: expected number, found string/)
      assert.match(said[2] ?? "", /\[image 1: image\/png\]/)
      assert.match(said[3] ?? "", /^Resource 4: /)
      assert.match(said[4] ?? "", /messageType/)
      const shown = (second?.input ?? []).filter((item) => JSON.stringify(item).includes(`"type":"image"`))
      assert.equal(shown.length, 1)
      // `sum` was used once, and may be no more.
      assert.deepEqual(
        second?.tools.map(({ name }) => name),
        ["tiny", "annotated", "read_text"],
      )
      assert.match(JSON.stringify(second?.input.at(-1)), /The tool sum has been used up/)
    })

    test("everything that is wrong with the imports is one error, before any model is called", async () => {
      const model = new ScriptedModel((request) => answers({ message: "never" }, request))
      const outcome = await here.run(
        `${preamble(server.url)}
        tool ech from mcp.s.tool.ecko
        tool sum from mcp.s.tool.get-sum {
            input { a: string, c: integer }
            bindings { b: "forty", x: 1 }
        }
        tool weather from mcp.s.tool.get-structured-content {
            output { temperature: string, wind: number }
        }
        tool echo from mcp.s.tool.echo { pin: "sha256:${"0".repeat(64)}" }
        tool careful from mcp.s.tool.echo { requires: [messages, message] }
        resource gone from mcp.s.resource.gone
        resource text from mcp.s.resource."Dynamic Text Resource" { bindings { id: "1" } }
        prompt args from mcp.s.prompt.args-prompt
        dynamic {
            a: render prompt.args
            t: read resource.text
        }
        agent a { model: model.m uses: [tool.ech, tool.sum, tool.weather, tool.echo, resource.gone] instruction: "x" output { message: string } }
        output { m: agent.a.message a: dynamic.a t: dynamic.t }`,
        { model },
      )
      const error = errorOf(outcome)
      assert.equal(error.kind, "validation_error")
      const paths = new Map(error.issues.map(({ path, message, hint }) => [path, `${message} ${hint ?? ""}`]))
      assert.match(paths.get("tool.ech") ?? "", /mcp\.s has no tool ecko Did you mean echo\?/)
      assert.match(paths.get("tool.sum.input.a") ?? "", /declares string, the server has number/)
      assert.match(paths.get("tool.sum.input.c") ?? "", /no argument c/)
      assert.match(paths.get("tool.sum.bindings.x") ?? "", /no argument x/)
      assert.match(paths.get("tool.sum.bindings.b") ?? "", /expected number, found string/)
      assert.match(paths.get("tool.weather.output.temperature") ?? "", /declares string, the server has number/)
      assert.match(paths.get("tool.weather.output.wind") ?? "", /no field wind/)
      assert.equal(paths.get("tool.weather.output.humidity"), undefined)
      assert.match(paths.get("tool.echo.pin") ?? "", /another definition of echo .*sha256:[0-9a-f]{64}/)
      assert.match(
        paths.get("tool.careful.requires") ?? "",
        /echo of mcp\.s has no argument messages Did you mean message\?/,
      )
      assert.match(paths.get("resource.gone") ?? "", /no resource gone/)
      assert.match(paths.get("resource.text.bindings.id") ?? "", /no argument id: it takes resourceId/)
      assert.match(paths.get("resource.text.bindings.resourceId") ?? "", /needs the argument resourceId/)
      assert.match(paths.get("prompt.args.bindings.city") ?? "", /needs the argument city/)
      assert.equal(model.requests.length, 0)
      assert.deepEqual(typesOf(outcome.events), [
        "workflow_started",
        "workflow_planned",
        "mcp_server_connected",
        "workflow_failed",
      ])
    })

    test("progress keeps a call alive within its maximum; silence ends it", async () => {
      const source = (duration: number, steps: number): string => `${preamble(server.url)}
        tool slow from mcp.s.tool.trigger-long-running-operation
        dynamic { d: call tool.slow { input { duration: ${duration}, steps: ${steps} } } }
        output { d: dynamic.d }`
      const patient = hosting({ limits: { silenceMs: 2000, callMs: 20_000 } })
      assert.match(JSON.stringify(resultOf(await patient.run(source(2.6, 8)))), /completed/)
      const silent = await patient.run(source(8, 1))
      assert.equal(errorOf(silent).kind, "timeout")
      assert.match(errorOf(silent).message, /mcp\.s did not answer within 2000 ms/)
      await patient.close()
      // Of the two only the maximum can be over: progress comes five times a second, unless the machine is busy.
      const strict = hosting({ limits: { silenceMs: 60_000, callMs: 2000 } })
      const long = await strict.run(source(8, 40))
      assert.equal(errorOf(long).kind, "timeout")
      assert.match(errorOf(long).message, /did not answer within 2000 ms/)
      await strict.close()
    })
  })
}
