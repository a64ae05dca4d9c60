import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { after, test } from "node:test"
import type { TestContext } from "node:test"
import zlib from "node:zlib"
import type { TestServer } from "../../../test/support/http-server.ts"
import { startServer } from "../../../test/support/http-server.ts"
import { within } from "../../../test/support/within.ts"
import { certificate } from "../../../test/support/certificate.ts"
import { WaitedTime } from "../../ports/waited-time.ts"
import type { Arrival, Egress, EgressRequest } from "../../ports/egress.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { openGate } from "../../ports/gate.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { EgressOptions } from "./egress.ts"
import { createEgress } from "./egress.ts"

const never = new AbortController().signal

/** An egress whose names all resolve to the loopback address, unless the test has its own resolver. */
function open(t: TestContext, options: Partial<EgressOptions> = {}): Egress {
  const egress = createEgress({
    policy: { kind: "private" },
    resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
    ...options,
  })
  t.after(() => egress.close())
  return egress
}

async function serve(t: TestContext, ...args: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...args)
  t.after(() => server.close())
  return server
}

function post(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return { url, method: "POST", headers: {}, body: "{}", signal: never, gate: openGate, ...more }
}

function get(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return { url, method: "GET", headers: {}, body: null, signal: never, gate: openGate, ...more }
}

function reasonOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no failure",
    (error: unknown) => (error instanceof EgressFailure ? error.reason : `another error: ${String(error)}`),
  )
}

async function blockedBy(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof RunFailure, `not refused: ${String(error)}`)
  assert.equal(error.error.kind, "blocked_destination")
  return error.error.message
}

test("sends a request and reads the answer", async (t) => {
  const server = await serve(t, (request, response) => {
    response.setHeader("X-Echo", request.headers["x-one"] ?? "")
    response.end(`got ${request.body} ü`)
  })
  const egress = open(t)
  const response = await egress.request(
    post(`${server.origin}/a?b=c`, {
      headers: { "X-One": "1", Host: "other.test", "Content-Length": "99" },
      body: "ö",
    }),
  )
  assert.equal(response.status, 200)
  assert.equal(response.headers["x-echo"], "1")
  assert.equal(await response.text(), "got ö ü")
  assert.equal(server.received[0]?.url, "/a?b=c")
  assert.equal(server.received[0]?.headers["user-agent"], "wireworks")
  assert.equal(server.received[0]?.headers.host, `127.0.0.1:${server.port}`)
})

test("connections are kept alive and used again, also after a body read in chunks", async (t) => {
  const server = await serve(t, (_, response) => response.end("x".repeat(100_000)))
  const egress = open(t)
  for (let round = 0; round < 4; round++) {
    const response = await egress.request(get(server.origin))
    let bytes = 0
    if (round % 2 === 0) bytes = (await response.text()).length
    else for await (const chunk of response.body) bytes += chunk.length
    assert.equal(bytes, 100_000)
  }
  assert.equal(server.connections(), 1)
})

test("no more connections to an origin than allowed; the others wait in order, and can be aborted while they wait", async (t) => {
  const held: (() => void)[] = []
  let arrived: (() => void) | null = null
  const server = await serve(t, (request, response) => {
    held.push(() => response.end(request.url))
    arrived?.()
  })
  const nthArrival = (n: number): Promise<void> =>
    within(
      30_000,
      `request ${n}`,
      new Promise((resolve) => {
        arrived = () => (held.length >= n ? resolve() : undefined)
        arrived()
      }),
    )
  const egress = open(t, { maxConnections: 2 })
  const ask = (path: string, signal = never): Promise<string> =>
    egress.request(get(`${server.origin}/${path}`, { signal })).then((response) => response.text())
  const [a, b] = [ask("a"), ask("b")]
  await nthArrival(2)
  const abort = new AbortController()
  const waiting = ask("c", abort.signal)
  const d = ask("d")
  abort.abort(new Error("no longer wanted"))
  await assert.rejects(within(30_000, "the waiting call's end", waiting), /no longer wanted/)
  assert.equal(server.received.length, 2)
  held[0]?.()
  held[1]?.()
  assert.deepEqual(await Promise.all([a, b]), ["/a", "/b"])
  await nthArrival(3)
  held[2]?.()
  assert.equal(await d, "/d")
  assert.equal(server.connections(), 2)
})

/** Memory that always has room. */
function arrivalOf(caller: string): Arrival {
  return { caller, waited: new WaitedTime(), add: () => null, remove: () => undefined, close: () => undefined }
}

test("a caller whose calls hang at an origin leaves connections to others, and callers take turns", async (t) => {
  const held: ServerResponse[] = []
  const server = await serve(t, (request, response) => {
    if (request.url === "/hang") held.push(response)
    else response.end("fine")
  })
  const egress = open(t, { maxConnections: 4 })
  const ask = (caller: string, path: string, totalMs = 60_000): Promise<string> =>
    egress
      .request(get(`${server.origin}${path}`, { arrival: arrivalOf(caller), limits: { totalMs } }))
      .then((response) => response.text())
  const hung = Array.from({ length: 20 }, () => ask("mallory", "/hang").catch(() => ""))
  const others = ["bob", "cy"].map((caller) => Promise.all([1, 2, 3].map(() => ask(caller, "/", 5_000))))
  assert.deepEqual((await within(30_000, "the others", Promise.all(others))).flat(), Array(6).fill("fine"))
  assert.ok(held.length <= 4)
  await egress.close()
  await Promise.all(hung)
})

test("the time that a call waits for a connection is not its server's, and a call that waits too long says so", async (t) => {
  let release: () => void = () => undefined
  const server = await serve(t, (request, response) => {
    if (request.url === "/hang") release = () => response.end("late")
    else setTimeout(() => response.end("fine"), 1_000)
  })
  const egress = open(t, { maxConnections: 1 })
  const ask = (path: string, totalMs: number): Promise<string> =>
    egress
      .request(get(`${server.origin}${path}`, { arrival: arrivalOf("bob"), limits: { totalMs } }))
      .then((response) => response.text())
  const first = ask("/hang", 60_000)
  const waits = ask("/", 2_000)
  const refused = ask("/", 200).catch((error: unknown) => error)
  const failed = await within(30_000, "the call that waits too long", refused)
  assert.ok(failed instanceof EgressFailure)
  assert.equal(failed.reason, "capacity")
  assert.match(failed.message, /waited \d+ ms for memory or a connection that other calls of the same caller use/)
  setTimeout(release, 1_200)
  assert.deepEqual(await within(30_000, "the others", Promise.all([first, waits])), ["late", "fine"])
})

test("the time that an answer waits for memory is not its server's", async (t) => {
  const server = await serve(t, (_, response) => {
    setTimeout(() => response.end(Buffer.alloc(2_000_000, 120)), 1_000)
  })
  const egress = open(t)
  const waited = new WaitedTime()
  const room = Promise.withResolvers<void>()
  const arrival = { ...arrivalOf("bob"), waited, add: () => waited.during(room.promise) }
  const reading = egress.request(get(server.origin, { arrival, limits: { totalMs: 2_000 } }))
  setTimeout(() => room.resolve(), 2_600)
  assert.equal((await (await reading).text()).length, 2_000_000)
})

test("a call that waits for a connection gets one when another call fails", async (t) => {
  const server = await serve(t, (request, response, raw) => {
    if (request.url === "/cut") raw.socket.destroy()
    else response.end("fine")
  })
  const egress = open(t, { maxConnections: 1 })
  const cut = egress.request(get(`${server.origin}/cut`))
  const fine = egress.request(get(`${server.origin}/fine`)).then((response) => response.text())
  assert.equal(await reasonOf(cut), "connection")
  assert.equal(await within(30_000, "the second call", fine), "fine")
})

// ------------------------------------------------------------------------------------------------------- destinations

test("every address of a name is judged, and one that is refused refuses the name", async (t) => {
  const server = await serve(t, (_, response) => response.end())
  const egress = open(t, {
    policy: { kind: "private" },
    resolve: () =>
      Promise.resolve([
        { address: "127.0.0.1", family: 4 },
        { address: "169.254.169.254", family: 4 },
      ]),
  })
  assert.match(await blockedBy(egress.request(get(`http://two.test:${server.port}/`))), /two\.test resolves to a cloud/)
  assert.equal(server.connections(), 0)
})

test("the socket goes to the address that was judged: the name is resolved once a connection, whatever it says later", async (t) => {
  const server = await serve(t, (_, response) => response.end("hello"))
  const asked: string[] = []
  const egress = open(t, {
    resolve: (host) => {
      asked.push(host)
      return Promise.resolve([{ address: asked.length === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }])
    },
  })
  const first = await egress.request(get(`http://rebind.test:${server.port}/`, { headers: {} }))
  assert.equal(await first.text(), "hello")
  assert.equal(server.received[0]?.headers.host, `rebind.test:${server.port}`)
  // On the kept connection: nothing is resolved again.
  assert.equal(await (await egress.request(get(`http://rebind.test:${server.port}/`))).text(), "hello")
  assert.deepEqual(asked, ["rebind.test"])
  // A new connection is judged anew.
  const other = createEgress({
    policy: { kind: "private" },
    resolve: () => Promise.resolve([{ address: "169.254.169.254", family: 4 }]),
  })
  t.after(() => other.close())
  await blockedBy(other.request(get(`http://rebind.test:${server.port}/`)))
})

test("of several judged addresses the first that answers is taken", async (t) => {
  const server = await serve(t, (_, response) => response.end("second"))
  const egress = open(t, {
    resolve: () =>
      Promise.resolve([
        { address: "127.0.0.2", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ]),
  })
  const response = await egress.request(get(`http://many.test:${server.port}/`))
  assert.equal(await response.text(), "second")
})

test("public refuses loopback however it is written, before a socket is opened", async (t) => {
  const server = await serve(t, (_, response) => response.end())
  const egress = open(t, { policy: { kind: "public" } })
  for (const host of [
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "[::ffff:127.0.0.1]",
    "localhost",
    "localhost.",
    "name.test",
  ]) {
    assert.match(await blockedBy(egress.request(get(`http://${host}:${server.port}/`))), /WIRE_EGRESS=private/, host)
  }
  assert.equal(server.connections(), 0)
})

test("a list of hosts is a list of names, not of what they resolve to", async (t) => {
  const server = await serve(t, (_, response) => response.end("in"))
  const egress = open(t, { policy: { kind: "hosts", hosts: [{ host: "listed.test", below: false, port: null }] } })
  assert.equal(await (await egress.request(get(`http://LISTED.test.:${server.port}/`))).text(), "in")
  await blockedBy(egress.request(get(`http://127.0.0.1:${server.port}/`)))
})

test("only http and https, no credentials in the URL, no nonsense", async (t) => {
  const egress = open(t)
  for (const url of [
    "file:///etc/passwd",
    "ftp://example.com/",
    "http://user:pw@example.com/",
    "nonsense",
    "http://",
    "data:,x",
  ]) {
    await blockedBy(egress.request(get(url)))
  }
})

test("a name that does not resolve, and a port where nobody listens", async (t) => {
  const egress = open(t, {
    resolve: (host) =>
      host === "gone.test"
        ? Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" }))
        : Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
  })
  assert.equal(await reasonOf(egress.request(get("http://gone.test/"))), "connection")
  const closed = await startServer(() => {})
  await closed.close()
  assert.equal(await reasonOf(egress.request(get(`http://closed.test:${closed.port}/`))), "connection")
  const none = open(t, { resolve: () => Promise.resolve([]) })
  assert.equal(await reasonOf(none.request(get("http://empty.test/"))), "connection")
})

test("a shortage of file descriptors is told to who watches for it, by requests and by fetch", async (t) => {
  let told = 0
  const resolve = (): Promise<never> => Promise.reject(Object.assign(new Error("none left"), { code: "EMFILE" }))
  const egress = open(t, { resolve, onShortage: () => told++ })
  assert.equal(await reasonOf(egress.request(get("http://one.test/"))), "descriptors")
  assert.equal(told, 1)
  await assert.rejects(egress.fetch("http://two.test/"))
  assert.equal(told, 2)
})

// ------------------------------------------------------------------------------------------------------------ redirects

test("a GET follows three redirects, not four", async (t) => {
  const server = await serve(t, (request, response) => {
    const left = Number(request.url.slice(1))
    if (left === 0) response.end("there")
    else response.writeHead(302, { location: `/${left - 1}` }).end("moved")
  })
  const egress = open(t)
  const response = await egress.request(get(`${server.origin}/3`))
  assert.equal(await response.text(), "there")
  assert.equal(response.url, `${server.origin}/0`)
  assert.equal(await reasonOf(egress.request(get(`${server.origin}/4`))), "too_many_redirects")
})

for (const [status, followed] of [
  [301, false],
  [302, false],
  [303, false],
  [307, true],
  [308, true],
] as const) {
  test(`a POST ${followed ? "follows" : "does not follow"} ${status}`, async (t) => {
    const server = await serve(t, (request, response) => {
      if (request.url === "/from") response.writeHead(status, { location: "/to" }).end()
      else response.end(`${request.method} ${request.body}`)
    })
    const response = await open(t).request(post(`${server.origin}/from`, { body: "again" }))
    assert.equal(response.status, followed ? 200 : status)
    assert.equal(await response.text(), followed ? "POST again" : "")
  })
}

test("credentials stay with their origin; within it they go along", async (t) => {
  const other = await serve(t, (_, response) => response.end("other"))
  const server = await serve(t, (request, response) => {
    if (request.url === "/same") response.writeHead(308, { location: "/away" }).end()
    else response.writeHead(307, { location: `http://other.test:${other.port}/in?x=1` }).end()
  })
  const headers = {
    authorization: "Bearer sk-secret",
    "X-Api-Key": "secret",
    cookie: "a=b",
    "content-type": "application/json",
  }
  const response = await open(t).request(post(`${server.origin}/same`, { headers, body: '{"a":1}' }))
  assert.equal(await response.text(), "other")
  assert.equal(server.received[1]?.headers.authorization, "Bearer sk-secret")
  const seen = other.received[0]
  assert.equal(seen?.body, '{"a":1}')
  assert.equal(seen.headers["content-type"], "application/json")
  assert.equal(JSON.stringify(seen.headers).includes("secret"), false)
  assert.equal(seen.headers.cookie, undefined)
})

test("a body that must stay is not sent to another origin; within its own, and without a body, a redirect is followed", async (t) => {
  const other = await serve(t, (_, response) => response.end("other"))
  const server = await serve(t, (request, response) => {
    if (request.url === "/same") response.writeHead(307, { location: "/here" }).end()
    else if (request.url === "/here") response.end(request.body)
    else response.writeHead(308, { location: `http://other.test:${other.port}/` }).end()
  })
  const egress = open(t)
  const stays = { body: "secret", bodyStays: true }
  assert.equal(await (await egress.request(post(`${server.origin}/same`, stays))).text(), "secret")
  assert.equal(await reasonOf(egress.request(post(`${server.origin}/away`, stays))), "redirect_refused")
  assert.equal(
    await reasonOf(egress.fetch(`${server.origin}/away`, { method: "POST", body: "secret" }, { bodyStays: true })),
    "redirect_refused",
  )
  assert.equal(other.received.length, 0)
  assert.equal(await (await egress.request({ ...get(`${server.origin}/away`), bodyStays: true })).text(), "other")
})

test("each redirect is judged: to an address, to a name that resolves to one, to another scheme", async (t) => {
  let location = ""
  const server = await serve(t, (_, response) => response.writeHead(307, { location }).end())
  const egress = open(t, {
    resolve: (host) =>
      Promise.resolve([{ address: host === "meta.test" ? "169.254.169.254" : "127.0.0.1", family: 4 }]),
  })
  for (location of [
    "http://169.254.169.254/latest",
    "http://2852039166/",
    "//meta.test/",
    "file:///etc/passwd",
    "http://u:p@127.0.0.1/",
  ]) {
    await blockedBy(egress.request(post(`${server.origin}/`)))
  }
})

test("under a list of hosts a redirect does not leave the list", async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(307, { location: "http://other.test/" }).end())
  const egress = open(t, { policy: { kind: "hosts", hosts: [{ host: "listed.test", below: false, port: null }] } })
  assert.match(await blockedBy(egress.request(post(`http://listed.test:${server.port}/`))), /other\.test/)
})

// ---------------------------------------------------------------------------------------------------- limits and aborts

test("first byte, silence and total time have limits of their own", async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url === "/late") return
    response.writeHead(200)
    response.write("first")
    if (request.url === "/drip") {
      const drip = setInterval(() => response.write("."), 20)
      response.on("close", () => clearInterval(drip))
    }
  })
  const egress = open(t)
  const read = async (path: string, limits: EgressRequest["limits"] & object): Promise<string> =>
    within(
      30_000,
      path,
      reasonOf(egress.request(get(`${server.origin}${path}`, { limits })).then((response) => response.text())),
    )
  assert.equal(await read("/late", { firstByteMs: 60 }), "first_byte_timeout")
  assert.equal(await read("/silent", { silenceMs: 60 }), "silence_timeout")
  assert.equal(await read("/drip", { silenceMs: 500, totalMs: 100 }), "total_timeout")
  assert.equal(await read("/late", { totalMs: 60 }), "total_timeout")
  assert.equal(await read("/drip", { max_bytes: 20 }), "too_large")
})

test("the time for a connection includes the name's resolution and the TLS handshake", async (t) => {
  const slow = open(t, { connectMs: 60, resolve: () => new Promise(() => {}) })
  assert.equal(await within(30_000, "slow DNS", reasonOf(slow.request(get("http://slow.test/")))), "connect_timeout")

  const mute = createServer(() => {})
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve))
  t.after(() => mute.close())
  const egress = open(t, { connectMs: 60 })
  const { port } = mute.address() as AddressInfo
  assert.equal(
    await within(30_000, "TLS", reasonOf(egress.request(get(`https://mute.test:${port}/`)))),
    "connect_timeout",
  )
})

test("the time for redirects counts to the whole", async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url === "/") response.writeHead(302, { location: "/hang" }).end()
  })
  const call = open(t).request(get(server.origin, { limits: { totalMs: 100 } }))
  assert.equal(await within(30_000, "the end", reasonOf(call)), "total_timeout")
})

/** A TCP server that says when its only connection is made and when it is closed. */
async function listenRaw(
  t: TestContext,
  answer: string,
): Promise<{ port: number; opened: Promise<void>; closed: Promise<void> }> {
  let onOpened: () => void = () => {}
  let onClosed: () => void = () => {}
  const opened = new Promise<void>((resolve) => (onOpened = resolve))
  const closed = new Promise<void>((resolve) => (onClosed = resolve))
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => onClosed())
    socket.on("data", () => {
      if (answer !== "") socket.write(answer)
      onOpened()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, opened, closed }
}

for (const [stage, answer] of [
  ["before the head", ""],
  ["within the body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
] as const) {
  test(`an abort ${stage} closes the socket, as the server sees it`, async (t) => {
    const raw = await listenRaw(t, answer)
    const abort = new AbortController()
    const result = open(t)
      .request(get(`http://127.0.0.1:${raw.port}/`, { signal: abort.signal }))
      .then((response) => response.text())
    const rejected = assert.rejects(result, /stop it/)
    await raw.opened
    if (answer !== "") await new Promise((resolve) => setImmediate(resolve))
    abort.abort(new Error("stop it"))
    await rejected
    await within(30_000, "the close", raw.closed)
  })
}

test("an abort in the TLS handshake closes the socket", async (t) => {
  const raw = await listenRaw(t, "")
  const abort = new AbortController()
  const result = open(t).request(get(`https://127.0.0.1:${raw.port}/`, { signal: abort.signal }))
  const rejected = assert.rejects(result, /stop it/)
  await raw.opened
  abort.abort(new Error("stop it"))
  await rejected
  await within(30_000, "the close", raw.closed)
})

test("an abort while the name is resolved ends the call at once", async (t) => {
  const abort = new AbortController()
  const result = open(t, { resolve: () => new Promise(() => {}) }).request(
    get("http://slow.test/", { signal: abort.signal }),
  )
  setImmediate(() => abort.abort(new Error("stop it")))
  await assert.rejects(within(30_000, "the end", result), /stop it/)
  await assert.rejects(open(t).request(get("http://slow.test/", { signal: abort.signal })), /stop it/)
})

test("leaving a body early, or discarding it, closes the connection", async (t) => {
  const server = await serve(t, (_, response) => {
    response.write("x".repeat(1000))
  })
  const egress = open(t)
  const response = await egress.request(get(server.origin))
  for await (const chunk of response.body) {
    assert.ok(chunk.length > 0)
    break
  }
  ;(await egress.request(get(server.origin))).discard()
  assert.equal(server.connections(), 2)
})

test("a reader that does not read holds the sender back", async (t) => {
  const total = 64 * 1024 * 1024
  let written = 0
  const server = await serve(t, (_, response) => {
    const chunk = Buffer.alloc(64 * 1024, "x")
    const push = (): void => {
      while (written < total) {
        written += chunk.length
        if (!response.write(chunk)) {
          response.once("drain", push)
          return
        }
      }
      response.end()
    }
    push()
  })
  const response = await open(t).request(get(server.origin, { limits: { max_bytes: 0 } }))
  // No sleep: the sender has stopped when nothing more was written over many turns of the loop.
  for (let last = -1, still = 0; still < 200; await new Promise((resolve) => setImmediate(resolve))) {
    still = written === last ? still + 1 : 0
    last = written
  }
  assert.ok(written < total / 2, `${written} bytes were taken`)
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  assert.equal(bytes, total)
})

test("an answer that is cut short, or is no HTTP, is a failure", async (t) => {
  for (const answer of ["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "SSH-2.0-OpenSSH_9.9\r\n"]) {
    const server = createServer((socket) => {
      socket.on("error", () => {})
      socket.on("data", () => socket.end(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    t.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const result = open(t)
      .request(get(url))
      .then((response) => response.text())
    assert.equal(await reasonOf(result), "connection")
  }
})

test("a server that closes idle connections costs no failed call", async (t) => {
  const server = await serve(t, (_, response, raw) => {
    response.end("bye")
    response.on("finish", () => raw.socket.end())
  })
  const egress = open(t)
  for (let round = 0; round < 5; round++) {
    assert.equal(await (await egress.request(get(server.origin))).text(), "bye")
    await new Promise((resolve) => setImmediate(resolve))
  }
})

test("closing egress ends open requests", async (t) => {
  const server = await serve(t, () => {})
  const egress = open(t)
  const result = reasonOf(egress.request(get(server.origin)))
  await new Promise((resolve) => setImmediate(resolve))
  await egress.close()
  assert.equal(await within(30_000, "the end", result), "connection")
})

// -------------------------------------------------------------------------------------------------------------- TLS

test("TLS is checked against the name, though the socket goes to the judged address", async (t) => {
  const server = await serve(
    t,
    (_, response, raw) => response.end(String((raw.socket as { servername?: unknown }).servername)),
    certificate,
  )
  const egress = open(t, { ca: certificate.cert })
  assert.equal(await (await egress.request(get(`https://tls.test:${server.port}/`))).text(), "tls.test")
  assert.equal(await (await egress.request(get(`https://tls.test.:${server.port}/`))).text(), "tls.test")
  assert.equal(await reasonOf(egress.request(get(`https://other.test:${server.port}/`))), "connection")
  assert.equal(await reasonOf(open(t).request(get(`https://tls.test:${server.port}/`))), "connection")
})

// ------------------------------------------------------------------------------------------------------------- fetch

test("fetch: method, headers, bodies, JSON, and the address after redirects", async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url === "/from") response.writeHead(307, { location: "/to" }).end()
    else if (request.url === "/empty") response.writeHead(204).end()
    else {
      response.setHeader("content-type", "application/json")
      response.end(
        JSON.stringify({ method: request.method, type: request.headers["content-type"], body: request.body }),
      )
    }
  })
  const egress = open(t)
  const response = await egress.fetch(new URL(`${server.origin}/from`), {
    method: "post",
    headers: new Headers({ "Content-Type": "application/json" }),
    body: '{"a":1}',
  })
  assert.ok(response instanceof Response && response.ok)
  assert.equal(response.url, `${server.origin}/to`)
  assert.equal(response.headers.get("Content-Type"), "application/json")
  assert.deepEqual(await response.json(), { method: "POST", type: "application/json", body: '{"a":1}' })

  const form = await egress.fetch(server.origin, { method: "POST", body: new URLSearchParams({ a: "b c" }) })
  assert.deepEqual(await form.json(), {
    method: "POST",
    type: "application/x-www-form-urlencoded;charset=UTF-8",
    body: "a=b+c",
  })
  const bytes = await egress.fetch(server.origin, { method: "PUT", body: new TextEncoder().encode("bytes") })
  assert.equal(((await bytes.json()) as { body: string }).body, "bytes")
  assert.equal((await egress.fetch(`${server.origin}/empty`)).status, 204)
  const manual = await egress.fetch(`${server.origin}/from`, { redirect: "manual" })
  assert.equal(manual.status, 307)
  await manual.body?.cancel()
  assert.equal(await reasonOf(egress.fetch(`${server.origin}/from`, { redirect: "error" })), "too_many_redirects")
  await assert.rejects(egress.fetch(server.origin, { method: "POST", body: new FormData() }), TypeError)
})

test("fetch: the body streams, an abort ends it, the policy holds", async (t) => {
  const raw = await listenRaw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
  const abort = new AbortController()
  const egress = open(t)
  const response = await egress.fetch(`http://127.0.0.1:${raw.port}/`, { signal: abort.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.equal((await reader?.read())?.value, "hello")
  const next = assert.rejects(async () => reader?.read(), /stop it/)
  abort.abort(new Error("stop it"))
  await next
  await within(30_000, "the close", raw.closed)
  await blockedBy(egress.fetch("http://169.254.169.254/"))
  assert.equal(
    await reasonOf(egress.fetch(`http://127.0.0.1:${raw.port}/`, {}, { max_bytes: 3 }).then((r) => r.text())),
    "too_large",
  )
})

after(() => {
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, 0)
})

test("a request passes its gate when the connection stands, and not a byte of it is sent before", async (t) => {
  let requests = 0
  const server = await serve(t, (_, response) => {
    requests++
    response.end("ok")
  })
  const egress = open(t)
  // Open while the connection is made, closed when it stands, then open again.
  const answersOfGate = [null, null, "closed", null, null]
  const seen: number[] = []
  const gate = (): Promise<void> | null => {
    seen.push(requests)
    return answersOfGate.shift() === "closed" ? new Promise((resolve) => setImmediate(resolve)) : null
  }
  const response = await egress.request(post(server.origin, { gate }))
  assert.equal(await response.text(), "ok")
  assert.equal(requests, 1)
  assert.deepEqual(seen, [0, 0, 0, 0, 0])
})

test("a call that has waited for its turn looks at its gate before it connects", async (t) => {
  const arrived = Promise.withResolvers<void>()
  const server = await serve(t, ({ url }, response) => {
    if (url === "/b") return void response.end("ok")
    arrived.resolve()
  })
  const egress = open(t, { maxConnections: 1 })
  const stop = new AbortController()
  const first = assert.rejects(egress.request(get(`${server.origin}/a`, { signal: stop.signal })), /no longer wanted/)
  await arrived.promise
  const answersOfGate = [null, "closed"]
  const gate = (): Promise<void> | null =>
    answersOfGate.shift() === "closed" ? new Promise((resolve) => setImmediate(resolve)) : null
  const second = egress.request(get(`${server.origin}/b`, { gate }))
  stop.abort(new Error("no longer wanted"))
  await first
  assert.equal(await (await second).text(), "ok")
  assert.deepEqual(answersOfGate, [])
  assert.equal(server.connections(), 2)
})

test("calls that end together close their connections a few at a time, and no call begins that has ended", async (t) => {
  const count = 100
  let requests = 0
  const arrived = Promise.withResolvers<void>()
  const server = await serve(t, () => {
    if (++requests === count / 2) arrived.resolve()
  })
  const egress = open(t, { maxConnections: count / 2 })
  const stop = new AbortController()
  const ended = Array.from({ length: count }, () =>
    assert.rejects(egress.request(get(server.origin, { signal: stop.signal })), /all of them/),
  )
  await arrived.promise
  const openSockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length
  const before = openSockets()
  stop.abort(new Error("all of them"))
  await Promise.all(ended)
  assert.ok(openSockets() > before - count / 4, `${before - openSockets()} were closed at once`)
  while (openSockets() > before - count / 2) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(server.connections(), count / 2)
})

test("a gate that stays closed ends the request with its own error, on new and on kept connections, in both shapes", async (t) => {
  let requests = 0
  const server = await serve(t, (_, response) => {
    requests++
    response.end("ok")
  })
  const egress = open(t)
  const lost = new Error("The lease is lost")
  for (const kept of [false, true]) {
    if (kept) await (await egress.request(post(server.origin))).text()
    const before = requests
    for (const openFor of [0, 1, 2]) {
      let asked = 0
      const gate = (): Promise<void> | null => (asked++ < openFor ? null : Promise.reject(lost))
      await assert.rejects(egress.request(post(server.origin, { gate })), lost)
      asked = 0
      await assert.rejects(egress.fetch(server.origin, { method: "POST", body: "{}" }, {}, gate), lost)
    }
    assert.equal(requests, before)
  }
  assert.equal(await (await egress.request(post(server.origin))).text(), "ok")
})

test("times that are too long for a timer are long times", async (t) => {
  const server = await serve(t, (_, response) => {
    response.write("a")
    setImmediate(() => setTimeout(() => response.end("b"), 50))
  })
  const years = 1e12
  const limits = { totalMs: years, firstByteMs: years, silenceMs: years }
  const response = await open(t).request(get(server.origin, { limits }))
  assert.equal(await response.text(), "ab")
})

/** All ways in which callers read a body. */
const readers: Readonly<Record<string, (egress: Egress, request: EgressRequest) => Promise<string>>> = {
  text: async (egress, request) => (await egress.request(request)).text(),
  body: async (egress, request) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of (await egress.request(request)).body) chunks.push(chunk)
    return Buffer.concat(chunks).toString()
  },
  fetch: async (egress, { url, signal, limits }) => (await egress.fetch(url, { signal }, limits)).text(),
}

test("a body has one content coding at most, whoever reads it, and is decoded within its limit", async (t) => {
  const said = JSON.stringify({ said: "ü".repeat(100_000) })
  const parts = [said.slice(0, 9), "", said.slice(9, 90_000), said.slice(90_000)]
  const empty = zlib.zstdCompressSync("")
  const bodies: Readonly<Record<string, readonly [coding: string, body: Buffer, reason: string | null]>> = {
    "/gzip": ["gzip", zlib.gzipSync(said), null],
    "/x-gzip": ["X-Gzip", zlib.gzipSync(said), null],
    "/deflate": ["deflate", zlib.deflateSync(said), null],
    "/br": ["br", zlib.brotliCompressSync(said), null],
    "/zstd": ["identity, zstd", zlib.zstdCompressSync(said), null],
    "/members": ["gzip", Buffer.concat([zlib.gzipSync(said.slice(0, 9)), zlib.gzipSync(said.slice(9))]), null],
    "/frames": ["zstd", Buffer.concat(parts.map((part) => zlib.zstdCompressSync(part))), null],
    "/empty-frames": ["zstd", Buffer.concat([zlib.zstdCompressSync(said), ...Array(2000).fill(empty)]), "coding"],
    "/frame-and-other": ["zstd", Buffer.concat([zlib.zstdCompressSync(said), Buffer.from("other")]), "coding"],
    "/torn-frame": ["zstd", Buffer.concat([zlib.zstdCompressSync(said), empty.subarray(0, -3)]), "coding"],
    "/padded": ["gzip", Buffer.concat([zlib.gzipSync(said), Buffer.alloc(512)]), null],
    "/deflate-and-more": ["deflate", Buffer.concat([zlib.deflateSync(said), zlib.deflateSync(said)]), "coding"],
    "/br-and-more": ["br", Buffer.concat([zlib.brotliCompressSync(said), zlib.brotliCompressSync(said)]), "coding"],
    "/twice": ["zstd, zstd", zlib.zstdCompressSync(zlib.zstdCompressSync(said)), "coding"],
    "/mixed": ["gzip, br", zlib.brotliCompressSync(zlib.gzipSync(said)), "coding"],
    "/unknown": ["lzma", Buffer.from(said), "coding"],
    "/plain": ["br", Buffer.from(said), "coding"],
    "/torn": ["gzip", zlib.gzipSync(said).subarray(0, -20), "coding"],
    "/bomb": ["br", zlib.brotliCompressSync(Buffer.alloc(50_000_000)), "too_large"],
    "/window": [
      "zstd",
      zlib.zstdCompressSync(Buffer.alloc(1000), { params: { [zlib.constants.ZSTD_c_windowLog]: 27 } }),
      null,
    ],
  }
  const server = await serve(t, ({ url }, response) => {
    const [path = "", size] = url.split("?")
    const [coding = "", body = Buffer.alloc(0)] = bodies[path] ?? []
    response.writeHead(200, { "content-encoding": coding })
    const piece = Number(size ?? body.length)
    for (let at = 0; at < body.length; at += piece) response.write(body.subarray(at, at + piece))
    response.end()
  })
  const egress = open(t)
  // Wherever a chunk ends, nothing of it is lost.
  for (const piece of [1, 3, 17])
    assert.equal(await readers["text"]?.(egress, get(`${server.origin}/frames?${piece}`)), said)
  for (const [path, [, , reason]] of Object.entries(bodies)) {
    for (const [name, read] of Object.entries(readers)) {
      const reading = read(egress, get(`${server.origin}${path}`, { limits: { max_bytes: 1_000_000 } }))
      if (reason !== null) assert.equal(await reasonOf(reading), reason, `${path} ${name}`)
      else if (path !== "/window") assert.equal(await reading, said, `${path} ${name}`)
      else assert.equal((await reading).length, 1000)
    }
  }
})

test("an abort ends a decoder, and what is not read is not decoded", async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(200_000_000))
  const server = await serve(t, (_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" }).end(bomb)
  })
  const egress = open(t)
  const stop = new AbortController()
  const response = await egress.request(get(server.origin, { signal: stop.signal, limits: { max_bytes: 0 } }))
  let bytes = 0
  await assert.rejects(async () => {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > 1_000_000) stop.abort(new Error("The run is over"))
    }
  }, /The run is over/)
  assert.ok(bytes < 10_000_000, `${bytes} bytes were decoded`)
})

test("a body without room in memory is not read on, and is when there is room", async (t) => {
  const server = await serve(t, (_, response) => response.end(Buffer.alloc(8_000_000, 120)))
  const egress = open(t)
  for (const [name, read] of Object.entries(readers)) {
    if (name === "fetch") continue
    let counted = 0
    let give: () => void = () => undefined
    let asked: () => void = () => undefined
    const full = new Promise<void>((resolve) => (asked = resolve))
    const arrival = {
      ...arrivalOf("bob"),
      add(bytes: number) {
        counted += bytes
        if (counted < 500_000) return null
        asked()
        return new Promise<void>((resolve) => (give = resolve))
      },
      remove(bytes: number) {
        // A reader that keeps what it reads does not count in this test.
        if (name === "text") counted -= bytes
      },
    }
    const reading = read(egress, get(server.origin, { arrival }))
    await within(30_000, "a full memory", full)
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(counted < 700_000, `${name}: ${counted} bytes have arrived`)
    counted = Number.NEGATIVE_INFINITY
    give()
    assert.equal((await within(30_000, "the rest", reading)).length, 8_000_000, name)
  }
})
