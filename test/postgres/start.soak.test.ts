import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, before, describe, test } from "node:test"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import { created, ended, happened } from "../contract/run-store/material.ts"
import { runWire } from "../cli/run-wire.ts"
import { startAnsweringProxy } from "../support/answering-proxy.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

// What an operator reads who starts the service on a server that it cannot use.

describe("starting on PostgreSQL", () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres({ config: ["fsync=off"], auth: "scram-sha-256" })
    for (const sql of [
      "CREATE ROLE app LOGIN PASSWORD 'pw'",
      "CREATE ROLE weak LOGIN PASSWORD 'pw'",
      "CREATE DATABASE wire OWNER app",
      "CREATE DATABASE latin OWNER app ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'",
    ]) {
      await server.query(sql)
    }
  })
  after(() => server.close())

  const key = randomBytes(32).toString("hex")
  const url = (rest: string, port = server.port): string => {
    const [login = "", database = ""] = rest.split("@")
    return `postgres://${login}@127.0.0.1:${port}/${database}`
  }
  const start = async (store: string, env: Record<string, string> = {}) => {
    const settings = { WIRE_STORE: store, WIRE_ENCRYPTION_KEY: key, WIRE_PLAYGROUND: "off", WIRE_DEMO: "off", ...env }
    const { code, err } = await runWire(["serve", "--port", "0"], { env: settings })
    assert.equal(code, 1, err)
    assert.ok(!err.includes("pw@"), err)
    return err
  }

  test("each refusal says what to do", async () => {
    assert.match(await start(url("app:no@wire")), /refuses the login: check the user and the password in WIRE_STORE/)
    assert.match(await start(url("app:pw@none")), /has no such database: create it/)
    assert.match(await start(url("weak:pw@wire")), /lacks rights .* grant it CREATE on the database/)
    assert.match(await start(url("app:pw@latin")), /has the encoding LATIN1: create one with UTF8/)
    assert.match(await start(url("app:pw@wire", 1)), /cannot be reached: .*ECONNREFUSED/)
    assert.match(await start(`${url("app:pw@wire")}?sslmode=require`), /offers no TLS: .* \?sslmode=disable/)
    assert.match(await start(`${url("app:pw@wire")}?mode=x`), /must have no "mode" after its \?/)
    assert.match(await start("postgres://127.0.0.1/wire"), /must name a user/)
    assert.match(await start(url("app:pw@wire"), { WIRE_ENCRYPTION_KEY: "" }), /PostgreSQL needs WIRE_ENCRYPTION_KEY/)
    assert.match(
      await start(url("app:pw@wire"), { WIRE_POSTGRES_CERT: "/x" }),
      /WIRE_POSTGRES_CERT and WIRE_POSTGRES_KEY/,
    )
  })

  test("a process that is busy for seconds while it starts takes the answers that have come meanwhile", async () => {
    const opening = postgresStores(url("app:pw@wire"), new ManualClock())()
    // As long as reading the program may take on a slow machine.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000)
    await (await opening).close()
  })

  test("a server older than 14 is refused by its version", async (t) => {
    const [found] = await server.query("SHOW server_version_num")
    const number = String(found?.["server_version_num"])
    // There is no such server here: this one says that it is older.
    const proxy = await startAnsweringProxy(server.port, (message) =>
      Buffer.from(message.toString("latin1").replace(number, `13${number.slice(2)}`), "latin1"),
    )
    t.after(() => proxy.close())
    assert.match(await start(url("app:pw@wire", proxy.port)), /PostgreSQL at \S+ is .*: 14 or newer is needed/)
  })

  test("a pool that keeps no session, as PgBouncer in transaction mode, is refused", async (t) => {
    // It gives the server's session to others after each transaction, so that nobody hears what is announced to it.
    const announcement = "A".charCodeAt(0)
    const proxy = await startAnsweringProxy(server.port, (message) => (message[0] === announcement ? null : message))
    t.after(() => proxy.close())
    assert.match(
      await start(url("app:pw@wire", proxy.port)),
      /delivers no notifications, as behind PgBouncer in transaction or statement mode: .* pool_mode = session/,
    )
    const made = await server.query("SELECT 1 FROM pg_namespace WHERE nspname = 'wire'", "wire")
    assert.deepEqual(made, [])
  })

  test("tables under another key, and of a newer release, are refused and left as they are", async () => {
    const schema = { WIRE_POSTGRES_SCHEMA: "others" }
    const open = postgresStores(url("app:pw@wire"), new ManualClock(), "others")
    await (await open()).close()
    assert.match(await start(url("app:pw@wire"), schema), /was encrypted with another key; set WIRE_ENCRYPTION_KEY/)
    const [before] = await server.query("SELECT version FROM others.format", "wire")
    await server.query("UPDATE others.format SET version = 99", "wire")
    await assert.rejects(open(), /made by a newer version of this service \(format 99/)
    await server.query(`UPDATE others.format SET version = ${String(before?.["version"])}`, "wire")
    await (await open()).close()
  })

  test("a role that owns the schema, and may create none, is enough", async () => {
    await server.query("CREATE SCHEMA given AUTHORIZATION weak", "wire")
    const store = await postgresStores(url("weak:pw@wire"), new ManualClock(), "given")()
    await store.probe()
    await store.close()
  })

  test("synchronous_commit = off is a warning", async () => {
    await server.query("ALTER ROLE app SET synchronous_commit = off")
    const warnings: string[] = []
    const open = postgresStores(url("app:pw@wire"), new ManualClock())
    await (await open({ warn: (sentence) => warnings.push(sentence) })).close()
    await server.query("ALTER ROLE app RESET synchronous_commit")
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? "", /synchronous_commit is off .* ALTER ROLE/)
  })

  test("four processes that start at once make the tables together", async () => {
    const open = postgresStores(url("app:pw@wire"), new ManualClock(), "together")
    const stores = await Promise.all([open(), open(), open(), open()])
    await Promise.all(stores.map((store) => store.probe()))
    await Promise.all(stores.map((store) => store.close()))
  })

  test("wire store check opens everything, and says what is damaged or missing", async () => {
    const env = { WIRE_STORE: url("app:pw@wire"), WIRE_ENCRYPTION_KEY: key, WIRE_POSTGRES_SCHEMA: "checked" }
    const check = async () => {
      const { code, out } = await runWire(["store", "check", "--json"], { env })
      return { code, ...(JSON.parse(out) as { problems: string[]; runs?: object; events?: number; open_by?: number }) }
    }
    assert.match((await check()).problems.join(), /There are no tables of this service in the schema "checked"/)
    const masterKey = createMasterKey(Buffer.from(key, "hex"))
    const store = await postgresStores(url("app:pw@wire"), new ManualClock(), "checked")({ masterKey })
    const lease = await created(store)
    await store.append(lease, [happened(1), happened(2)])
    const other = await created(store)
    await store.append(other, [happened(1), ended(2)])
    const live = await check()
    assert.deepEqual(
      [live.code, live.problems, live.runs, live.events, live.open_by],
      [0, [], { unfinished: 1, ended: 1 }, 4, 1],
    )
    await store.close()
    await server.query("UPDATE checked.events SET body = 'x' WHERE run = (SELECT max(num) FROM checked.runs)", "wire")
    const damaged = await check()
    assert.equal(damaged.code, 1)
    assert.match(damaged.problems.join(), /1 of the runs cannot be read whole/)
  })

  test("wire store change-key puts the store under another key, while no service has it open", async () => {
    const [schema, next] = ["rekeyed", randomBytes(32).toString("hex")]
    const open = (hex: string) =>
      postgresStores(
        url("app:pw@wire"),
        new ManualClock(),
        schema,
      )({ masterKey: createMasterKey(Buffer.from(hex, "hex")) })
    const change = (env: Record<string, string>) =>
      runWire(["store", "change-key"], {
        env: { WIRE_STORE: url("app:pw@wire"), WIRE_POSTGRES_SCHEMA: schema, WIRE_ENCRYPTION_KEY: next, ...env },
      })
    const store = await open(key)
    const { run_id } = await created(store)
    const [before] = await server.query(`SELECT pg_relation_filepath('${schema}.store') AS file`, "wire")
    assert.match((await change({ WIRE_ENCRYPTION_KEY_OLD: key })).err, /is in use: stop the service first/)
    await store.close()
    assert.match((await change({})).err, /Set WIRE_ENCRYPTION_KEY_OLD to the key that the store has now/)
    assert.match((await change({ WIRE_ENCRYPTION_KEY_OLD: "00".repeat(32) })).err, /encrypted with another key/)
    const changed = await change({ WIRE_ENCRYPTION_KEY_OLD: key })
    assert.deepEqual([changed.code, changed.out.includes("under the new key. Start the service")], [0, true])
    assert.match((await change({ WIRE_ENCRYPTION_KEY_OLD: key })).out, /under the new key already/)
    // The record before was in this file.
    const [after] = await server.query(`SELECT pg_relation_filepath('${schema}.store') AS file`, "wire")
    assert.notEqual(after?.["file"], before?.["file"])
    await assert.rejects(open(key), /encrypted with another key/)
    const now = await open(next)
    assert.deepEqual((await now.request(run_id)).secrets, { token: "s3cret-token" })
    await now.close()
  })
})
