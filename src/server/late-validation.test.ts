import assert from "node:assert/strict"
import { it } from "node:test"
import { fastify } from "fastify"
import { HttpError } from "./http-error.ts"
import { schemaCompilers } from "./late-validation.ts"

it("first requests that come together get an answer each", async () => {
  const app = fastify({ schemaController: { compilersFactory: schemaCompilers } })
  app.setErrorHandler((error, _request, reply) =>
    reply.code(400).send(error instanceof HttpError ? error.error.issues : String(error)),
  )
  const schema = { body: { type: "object", properties: { a: { type: "integer" } }, additionalProperties: false } }
  app.post("/", { schema }, (request) => request.body)
  const post = async (payload: object): Promise<unknown> =>
    (await app.inject({ method: "POST", url: "/", payload })).json()
  const wrong = [
    [{ path: "a", message: "`a` must be an integer" }],
    [{ path: "b", message: "Unknown field: b", hint: "Known are `a`." }],
  ]
  // Before the schema is compiled, and after it.
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await Promise.all([post({ a: "x" }), post({ a: 1 }), post({ b: 1 })]), [
      wrong[0],
      { a: 1 },
      wrong[1],
    ])
  }
  await app.close()
})

it("a schema that cannot be compiled is no mistake of the client", async () => {
  const app = fastify({ schemaController: { compilersFactory: schemaCompilers } })
  app.get("/", { schema: { querystring: { type: "no such type" } } }, () => "")
  assert.equal((await app.inject("/")).statusCode, 500)
  await app.close()
})
