import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { connect as connectSocket, createServer, type Socket } from "node:net"
import { connect, nkeys } from "@nats-io/transport-node"
import { jetstreamManager } from "@nats-io/jetstream"
import { after, before, describe, test } from "node:test"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import { StoreFailure } from "../../src/ports/store.ts"
import { runWire } from "../cli/run-wire.ts"
import { created, ended, happened, ids } from "../contract/run-store/material.ts"
import { outdatedNatsServer } from "../../scripts/nats-servers.mjs"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { natsStores, noProofs, defaultSizes } from "../support/nats-store.ts"
import { within } from "../support/within.ts"

// Connections that the broker accepts, what the store makes in it, and what the store says when something there is wrong.

async function works(url: string, proofs: Partial<typeof noProofs | Record<string, unknown>> = {}): Promise<void> {
  const store = await natsStores(url, systemClock)({ proofs: { ...noProofs, ...proofs } })
  try {
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    assert.deepEqual(await ids(store, lease.run_id), [1, 2])
  } finally {
    await store.close()
  }
}

const host = (broker: NatsCluster) => broker.url.slice("nats://".length)
const refused = (pattern: RegExp) => (error: unknown) => error instanceof StoreFailure && pattern.test(error.message)

describe("who may connect", () => {
  test("a user with a password", async () => {
    const broker = await startNats(1, 'authorization { user: ann, password: "p@ss,word" }')
    try {
      await works(`nats://ann:p%40ss%2Cword@${host(broker)}`)
      await assert.rejects(works(`nats://ann:wrong@${host(broker)}`), refused(/cannot be reached: .*[Aa]uthorization/))
      await assert.rejects(works(broker.url), refused(/cannot be reached/))
    } finally {
      await broker.close()
    }
  })

  test("a token", async () => {
    const broker = await startNats(1, 'authorization { token: "t0ken" }')
    try {
      await works(`nats://t0ken@${host(broker)}`)
      await assert.rejects(works(`nats://wrong@${host(broker)}`), refused(/cannot be reached/))
    } finally {
      await broker.close()
    }
  })

  test("over TLS, with a certificate of our own", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-tls-"))
    const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" })
    openssl(
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "2",
      "-keyout",
      "ca.key",
      "-out",
      "ca.pem",
      "-subj",
      "/CN=test authority",
    )
    writeFileSync(join(folder, "names"), "subjectAltName=IP:127.0.0.1,DNS:localhost")
    for (const name of ["server", "client"]) {
      openssl(
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        `${name}.key`,
        "-out",
        `${name}.csr`,
        "-subj",
        `/CN=${name}`,
      )
      openssl(
        "x509",
        "-req",
        "-in",
        `${name}.csr`,
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "names",
        "-out",
        `${name}.pem`,
      )
    }
    const file = (name: string) => readFileSync(join(folder, name), "utf8")
    const files = ["cert_file", "key_file", "ca_file"].map(
      (key, index) => `${key}: "${join(folder, ["server.pem", "server.key", "ca.pem"][index] ?? "")}"`,
    )
    const broker = await startNats(1, `tls { ${files.join(", ")}, verify: true }`)
    try {
      const url = `tls://${host(broker)}`
      await works(url, { ca: file("ca.pem"), cert: file("client.pem"), key: file("client.key") })
      await assert.rejects(works(url, { ca: file("ca.pem") }), refused(/cannot be reached/))
      await assert.rejects(works(url), refused(/cannot be reached/))
    } finally {
      await broker.close()
      rmSync(folder, { recursive: true })
    }
  })

  test("a creds file", async () => {
    const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()]
    const system = nkeys.createAccount()
    const sign = (signer: typeof operator, subject: typeof operator, nats: object) => {
      const claims = { jti: "x", iat: 1, iss: signer.getPublicKey(), name: "test", sub: subject.getPublicKey(), nats }
      const text = [{ typ: "JWT", alg: "ed25519-nkey" }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
        .join(".")
      return `${text}.${Buffer.from(signer.sign(Buffer.from(text))).toString("base64url")}`
    }
    const [all, room] = [
      { subs: -1, data: -1, payload: -1 },
      { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 },
    ]
    const noRoom = { mem_storage: 0, disk_storage: 0, streams: 0, consumer: 0 }
    const limits = { ...all, ...room, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true }
    const accountToken = sign(operator, account, { type: "account", version: 2, limits })
    const broker = await startNats(
      1,
      `operator: "${sign(operator, operator, { type: "operator", version: 2 })}"
resolver: MEMORY
system_account: ${system.getPublicKey()}
resolver_preload: {
  ${account.getPublicKey()}: "${accountToken}"
  ${system.getPublicKey()}: "${sign(operator, system, { type: "account", version: 2, limits: { ...limits, ...noRoom } })}"
}`,
    )
    try {
      const token = sign(account, user, { type: "user", version: 2, ...all })
      const seed = Buffer.from(user.getSeed()).toString()
      const creds = `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`
      await works(broker.url, { creds: Buffer.from(creds) })
      await assert.rejects(works(broker.url), refused(/cannot be reached/))
    } finally {
      await broker.close()
    }
  })

  test("nobody is there, or it has no JetStream", async () => {
    await assert.rejects(works("nats://127.0.0.1:1"), refused(/The broker at 127.0.0.1:1 cannot be reached/))
  })
})

describe("the broker's release", () => {
  /** In front of a real broker: says that it is of another release. */
  async function posing(broker: NatsCluster, version: () => string) {
    const sockets = new Set<Socket>()
    const server = createServer((client) => {
      const upstream = connectSocket(broker.nodes[0]?.port ?? 0, "127.0.0.1")
      // It says so when a client comes, and again when the client has said who it is.
      upstream.on("data", (data) => {
        const text = data.toString("latin1")
        client.write(
          text.replaceAll(/^(INFO .*?"version":")[^"]*/gm, (_, start) => `${start}${version()}`),
          "latin1",
        )
      })
      client.on("data", (data) => upstream.write(data))
      for (const socket of [client, upstream]) {
        sockets.add(socket)
        socket.on("error", () => undefined).on("close", () => [client, upstream].forEach((one) => one.destroy()))
      }
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = address !== null && typeof address === "object" ? address.port : 0
    const cut = () => sockets.forEach((socket) => socket.destroy())
    const close = async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    }
    return { url: `nats://127.0.0.1:${port}`, cut, close }
  }

  test("a real one before 2.12 is refused, with a sentence, and nothing is made there", async (t) => {
    const outdated = outdatedNatsServer()
    if (outdated === null) return t.skip("no nats-server that is too old is here")
    const broker = await startNats(1, "", outdated)
    try {
      await assert.rejects(works(broker.url), refused(/nats-server 2\.1[01]\.\d+ is too old.* needs 2\.12 or newer/))
      const connection = await connect({ servers: host(broker) })
      assert.deepEqual(await (await jetstreamManager(connection)).streams.names().next(), [])
      await connection.close()
    } finally {
      await broker.close()
    }
  })

  test("one before 2.12 is refused by what it says of itself", async () => {
    const broker = await startNats(1)
    let version = "2.11.9"
    const proxy = await posing(broker, () => version)
    try {
      await assert.rejects(works(proxy.url), refused(/nats-server 2\.11\.9 is too old.* needs 2\.12 or newer/))
      const connection = await connect({ servers: host(broker) })
      const manager = await jetstreamManager(connection)
      assert.deepEqual(await manager.streams.names().next(), [])
      await connection.close()
      for (version of ["2.12.0", "2.12.3-beta.1", "2.100.0", "3.0.0"]) await works(proxy.url)
    } finally {
      await proxy.close()
      await broker.close()
    }
  })

  test("a connection that comes back to an older node stores nothing there, until it finds a newer one", async () => {
    const broker = await startNats(1)
    let version = "2.12.2"
    const proxy = await posing(broker, () => version)
    const store = await natsStores(proxy.url, systemClock)()
    const until = async (met: () => Promise<boolean>) => {
      while (!(await met())) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const refuses = () => created(store).then(() => false, refused(/nats-server 2\.10\.27 is too old/))
    const takes = () =>
      created(store).then(
        () => true,
        () => false,
      )
    try {
      await created(store)
      version = "2.10.27"
      proxy.cut()
      await within(30_000, "the refusal", until(refuses))
      assert.equal(store.health.connected, false)
      version = "2.12.2"
      proxy.cut()
      await within(30_000, "a newer node", until(takes))
    } finally {
      await store.close()
      await proxy.close()
      await broker.close()
    }
  })
})

describe("what is in the broker", () => {
  let broker: NatsCluster

  before(async () => {
    broker = await startNats(1)
  })
  after(() => broker.close())

  test("another key is refused, and says so", async () => {
    const open = natsStores(broker.url, systemClock)
    await (await open()).close()
    await assert.rejects(
      open({ masterKey: createMasterKey(randomBytes(32)) }),
      refused(/WIRE_ENCRYPTION_KEY is not the key/),
    )
    await (await open()).close()
  })

  test("streams that differ in size stay as they are, with a sentence; those that differ in kind are refused", async () => {
    const prefix = `d${randomBytes(4).toString("hex")}`
    const open = natsStores(broker.url, systemClock)
    await (await open({ prefix })).close()
    const remarks: string[] = []
    const sizes = { ...defaultSizes, max_bytes: 1_000_000_000, cacheAgeMs: 7_200_000 }
    await (await open({ prefix, sizes, remark: (sentence) => remarks.push(sentence) })).close()
    assert.equal(remarks.length, 2)
    assert.match(remarks.join("\n"), /_ROWS exists with max_bytes is -1, the settings say 1000000000/)
    assert.match(remarks.join("\n"), /_CACHE exists with max_age is 3600000000000, the settings say 7200000000000/)

    const connection = await connect({ servers: broker.url.slice("nats://".length) })
    const manager = await jetstreamManager(connection)
    const name = `${prefix.toUpperCase()}_ROWS`
    assert.equal((await manager.streams.info(name)).config.max_bytes, -1)
    await manager.streams.update(name, { discard: "old" })
    await assert.rejects(
      open({ prefix }),
      refused(/_ROWS exists, but its settings do not suit Wireworks \(discard is "old"/),
    )
    assert.equal((await manager.streams.info(name)).config.discard, "old")
    await connection.close()
  })

  test("a full broker refuses new events with a sentence, is not ready, loses none, and goes on when there is room", async () => {
    const open = natsStores(broker.url, systemClock)
    const store = await open({ sizes: { ...defaultSizes, max_bytes: 400_000 } })
    const old = await created(store)
    await store.append(old, [happened(1, "x".repeat(150_000)), ended(2, new Date().toISOString())])
    const lease = await created(store)
    await store.probe()
    let stored = 0
    const fill = async () => {
      for (;;) {
        await store.append(lease, [happened(stored + 1, "x".repeat(20_000))])
        stored++
      }
    }
    await assert.rejects(fill(), refused(/is full/))
    assert.ok(stored >= 5)
    assert.deepEqual((await ids(store, lease.run_id)).length, stored)
    for (let n = 0; n < 3; n++) await assert.rejects(store.probe(), refused(/is full/))
    assert.equal(await store.sweep(Date.now() + 60_000), 1)
    await store.probe()
    await store.append(lease, [happened(stored + 1, "x".repeat(20_000))])
    await store.close()
  })

  test("nothing of a run can be read in the broker, and its secrets are gone when it has ended", async () => {
    const prefix = `e${randomBytes(4).toString("hex")}`
    const store = await natsStores(broker.url, systemClock)({ prefix })
    const lease = await created(store)
    await store.append(lease, [happened(1, "a-readable-word", { history: "a-kept-word" })])
    await store.cache.put("ann", "k", "h", "a-cached-word", 60_000)
    const dump = async () => {
      const connection = await connect({ servers: broker.url.slice("nats://".length) })
      const manager = await jetstreamManager(connection)
      let text = ""
      for (const stream of ["ROWS", "CACHE", "ALIVE"]) {
        const { state } = await manager.streams.info(`${prefix.toUpperCase()}_${stream}`)
        for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
          const message = await manager.streams
            .getMessage(`${prefix.toUpperCase()}_${stream}`, { seq })
            .catch(() => null)
          if (message !== null) text += `${message.subject} ${Buffer.from(message.data).toString("latin1")}\n`
        }
      }
      await connection.close()
      return text
    }
    const during = await dump()
    for (const word of ["s3cret-token", "a-readable-word", "a-kept-word", "a-cached-word", "owls", "agent a {}"]) {
      assert.ok(!during.includes(word), word)
    }
    assert.match(during, /\.open\.r\.\d+\./)
    await store.append(lease, [ended(2)])
    assert.doesNotMatch(await dump(), /\.open\.r\.\d+\./)
    await store.close()
  })
})

describe("wire serve on a broker", () => {
  const serve = (store: string, env: Record<string, string> = {}) =>
    runWire(["serve", "--port", "0"], { env: { WIRE_STORE: store, ...env } })
  const key = { WIRE_ENCRYPTION_KEY: "11".repeat(32) }

  test("says what is wrong with its settings, and repeats no password", async () => {
    const outcomes = [
      [await serve("nats://a"), /A cluster needs WIRE_ENCRYPTION_KEY/],
      [await serve("nats://a", { WIRE_ENCRYPTION_KEY: "short" }), /WIRE_ENCRYPTION_KEY must be 32 bytes/],
      [await serve("nats://ann:s3cret@a:b", key), /WIRE_STORE is "nats:\/\/a:b": it must name hosts/],
      [
        await serve("redis://ann:s3cret@a", key),
        /WIRE_STORE is "redis:\/\/a": it must be sqlite, memory, like postgres:.*, or like nats/,
      ],
      [await serve("nats://ann:s3cret@127.0.0.1:1", key), /The broker at 127.0.0.1:1 cannot be reached/],
      [await serve("nats://a", { ...key, WIRE_NATS_CREDS: "/nowhere" }), /WIRE_NATS_CREDS is "\/nowhere"/],
    ] as const
    for (const [{ code, err }, sentence] of outcomes) {
      assert.equal(code, 1)
      assert.match(err, sentence)
      assert.doesNotMatch(err, /s3cret/)
    }
  })
})
