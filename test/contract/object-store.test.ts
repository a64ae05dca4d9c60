import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, test } from "node:test"
import { AwsClient } from "aws4fetch"
import { FolderObjects } from "../../src/adapters/files/folder-objects.ts"
import { MemoryObjects } from "../../src/adapters/files/memory-objects.ts"
import { readS3Address } from "../../src/adapters/files/s3-objects.ts"
import { signS3 } from "../../src/adapters/files/sign-s3.ts"
import { FilesFailure, ObjectsFull, type ObjectStore } from "../../src/ports/files.ts"
import { s3At } from "../support/s3-objects.ts"
import { expectedSignature, startS3Server, testKeys, type S3Server } from "../support/s3-server.ts"

interface Bench {
  readonly objects: ObjectStore
  close(): Promise<void>
}

const name = (): string => randomBytes(16).toString("hex")

async function* inParts(bytes: Uint8Array, size = 70_001): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function whole(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = []
  for await (const part of parts) found.push(part)
  return Buffer.concat(found)
}

async function listed(objects: ObjectStore): Promise<string[]> {
  const found: string[] = []
  for await (const one of objects.list()) {
    assert.ok(Math.abs(one.written_at - Date.now()) < 600_000)
    found.push(one.name)
  }
  return found.sort()
}

/** What every place for objects promises. */
function objectStoreContract(place: string, open: () => Promise<Bench>): void {
  describe(`objects: ${place}`, () => {
    const onBench = (title: string, body: (objects: ObjectStore) => Promise<void>): void => {
      test(title, async () => {
        const bench = await open()
        try {
          await body(bench.objects)
        } finally {
          await bench.close()
        }
      })
    }

    onBench("an object is read as it was written, whatever its size", async (objects) => {
      for (const size of [0, 1, 65_552, 5 * 1024 * 1024, 11 * 1024 * 1024 + 7]) {
        const [id, bytes] = [name(), randomBytes(size)]
        await objects.put(id, inParts(bytes))
        assert.ok((await whole(objects.get(id))).equals(bytes), String(size))
        await objects.delete(id)
      }
    })

    onBench("a range is read without the rest", async (objects) => {
      const [id, bytes] = [name(), randomBytes(300_000)]
      await objects.put(id, inParts(bytes))
      for (const [from, count] of [
        [0, 1],
        [65_530, 20],
        [299_999, 1],
        [100_000, 200_000],
      ] as const) {
        const found = await whole(objects.get(id, { from, bytes: count }))
        assert.ok(found.equals(bytes.subarray(from, from + count)), `${from}+${count}`)
      }
    })

    onBench("what its source breaks off leaves no object", async (objects) => {
      for (const size of [10, 6 * 1024 * 1024]) {
        const id = name()
        const broken = async function* (): AsyncGenerator<Uint8Array, void> {
          yield randomBytes(size)
          throw new RangeError("the client has left")
        }
        await assert.rejects(objects.put(id, broken()), RangeError)
        await assert.rejects(whole(objects.get(id)), FilesFailure)
        await objects.delete(id)
      }
      assert.deepEqual(await listed(objects), [])
    })

    onBench("a deleted object is gone, and deleting it again is harmless", async (objects) => {
      const id = name()
      await objects.put(id, inParts(Buffer.from("x")))
      await objects.delete(id)
      await objects.delete(id)
      await assert.rejects(whole(objects.get(id)), FilesFailure)
    })

    onBench("a list has all objects", async (objects) => {
      const ids = Array.from({ length: 8 }, name).sort()
      for (const id of ids) await objects.put(id, inParts(Buffer.from(id)))
      assert.deepEqual(await listed(objects), ids)
    })

    onBench("ten are written and read at once", async (objects) => {
      const all = Array.from({ length: 10 }, () => ({ id: name(), bytes: randomBytes(200_000) }))
      await Promise.all(all.map(({ id, bytes }) => objects.put(id, inParts(bytes))))
      const read = await Promise.all(all.map(({ id }) => whole(objects.get(id))))
      assert.ok(read.every((found, index) => all[index]?.bytes.equals(found)))
      await objects.probe()
      assert.equal((await listed(objects)).length, 10)
    })
  })
}

const memoryBytes = 64 * 1024 * 1024

objectStoreContract("memory", async () => {
  const objects = new MemoryObjects(memoryBytes, () => Date.now())
  return { objects, close: () => objects.close() }
})

objectStoreContract("folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-objects-"))
  const objects = new FolderObjects(folder)
  return { objects, close: async () => rmSync(folder, { recursive: true }) }
})

objectStoreContract("S3", async () => {
  const server = await startS3Server("bucket")
  const objects = s3At(server.endpoint)
  return {
    objects,
    close: async () => {
      await objects.close()
      await server.close()
    },
  }
})

test("memory is bounded, and what was refused takes none of it", async () => {
  const objects = new MemoryObjects(1_000, () => 0)
  await assert.rejects(objects.put(name(), inParts(randomBytes(1_001), 300)), ObjectsFull)
  await objects.put(name(), inParts(randomBytes(1_000), 300))
})

test("machines that share a folder look at once whether they may write there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-objects-"))
  const machines = Array.from({ length: 10 }, () => new FolderObjects(folder))
  await Promise.all(machines.map((one) => one.probe()))
  assert.deepEqual(await listed(new FolderObjects(folder)), [])
  rmSync(folder, { recursive: true })
})

test("a process that dies while it writes leaves a rest that the list has", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-objects-"))
  const objects = new FolderObjects(folder)
  const id = name()
  await objects.put(id, inParts(Buffer.from("x")))
  const rest = `ab${"0".repeat(30)}`
  await objects.put(rest, inParts(Buffer.from("x")))
  await objects.delete(rest)
  writeFileSync(join(folder, "ab", `${rest}.part`), "half")
  assert.deepEqual(await listed(objects), [rest, id].sort())
  await objects.delete(rest)
  assert.deepEqual(readdirSync(join(folder, "ab")), [])
  rmSync(folder, { recursive: true })
})

describe("S3", () => {
  const withServer = async (work: (server: S3Server) => Promise<void>): Promise<void> => {
    const server = await startS3Server("bucket")
    try {
      await work(server)
    } finally {
      await server.close()
    }
  }

  // The examples of AWS's documentation of Signature Version 4 for S3.
  const keys = {
    accessKey: "AKIAIOSFODNN7EXAMPLE",
    secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1",
  }
  const at = Date.UTC(2013, 4, 24)
  const examples = [
    {
      request: { method: "GET", path: "/test.txt", headers: { range: "bytes=0-9" }, body: Buffer.alloc(0) },
      url: "/test.txt",
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    },
    {
      request: {
        method: "PUT",
        path: "/test$file.text",
        headers: { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
        body: Buffer.from("Welcome to Amazon S3."),
      },
      url: "/test%24file.text",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    },
  ]

  test("requests are signed as the examples of AWS are, and the test server computes the same", () => {
    for (const { request, url, signature } of examples) {
      const host = "examplebucket.s3.amazonaws.com"
      const headers = signS3({ ...request, host, query: {} }, keys, at)
      assert.equal(/Signature=(\w+)$/.exec(headers["authorization"] ?? "")?.[1], signature)
      const sent = { method: request.method, url, headers, body: request.body }
      assert.equal(expectedSignature(sent, keys.secretKey), signature)
    }
  })

  test("the test server takes what another client signs, and refuses a wrong secret", () =>
    withServer(async ({ endpoint, objects }) => {
      const { accessKey: accessKeyId, secretKey: secretAccessKey } = testKeys
      const client = new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: "eu-1", retries: 0 })
      const put = await client.fetch(`${endpoint}/bucket/a%20b/c`, { method: "PUT", body: "hello" })
      assert.equal(put.status, 400, "the hash of the body must be signed")
      const hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      const headers = { "x-amz-content-sha256": hash }
      assert.equal(
        (await client.fetch(`${endpoint}/bucket/a%20b/c`, { method: "PUT", body: "hello", headers })).status,
        200,
      )
      assert.equal(objects.get("a b/c")?.body.toString(), "hello")
      const stranger = new AwsClient({
        accessKeyId,
        secretAccessKey: "wrong",
        service: "s3",
        region: "eu-1",
        retries: 0,
      })
      const refused = await stranger.fetch(`${endpoint}/bucket/a%20b/c`, { method: "PUT", body: "hello", headers })
      assert.match(await refused.text(), /SignatureDoesNotMatch/)
    }))

  test("a wrong secret and an unknown bucket are refused with a sentence that shows no key", () =>
    withServer(async ({ endpoint }) => {
      const wrong = s3At(endpoint, { ...testKeys, secretKey: "wrong-secret" })
      await assert.rejects(wrong.probe(), (error: Error) => {
        assert.match(
          error.message,
          /^s3:\/\/bucket\/some\/where \(1\)\/ refused to take a file \(403 SignatureDoesNotMatch\)$/,
        )
        return true
      })
      await wrong.close()
    }))

  test("failures that pass are tried again, and an upload that cannot end is given up", () =>
    withServer(async (server) => {
      const objects = s3At(server.endpoint)
      const bytes = randomBytes(6 * 1024 * 1024)
      const id = name()
      server.fail(2, 503)
      await objects.put(id, inParts(bytes))
      assert.ok((await whole(objects.get(id))).equals(bytes))
      server.fail(4, 503, ({ url = "" }) => url.includes("partNumber=2"))
      await assert.rejects(objects.put(name(), inParts(bytes)), /503 SlowDown/)
      assert.equal(server.uploads.size, 0)
      assert.equal(server.objects.size, 1)
      await objects.close()
    }))

  test("an error after the status is an error", async () => {
    const server = await startS3Server("bucket", 6 * 1024 * 1024)
    const objects = s3At(server.endpoint)
    await assert.rejects(objects.put(name(), inParts(randomBytes(6 * 1024 * 1024))), /EntityTooSmall/)
    assert.equal(server.objects.size, 0)
    await objects.close()
    await server.close()
  })

  test("uploads that a dead process has left are listed, and deleted", () =>
    withServer(async (server) => {
      const objects = s3At(server.endpoint, testKeys, "p")
      const id = name()
      server.uploads.set("left&over", { key: `p/${id}`, parts: new Map(), at: Date.now() })
      server.uploads.set("foreign", { key: `q/${id}`, parts: new Map(), at: Date.now() })
      assert.deepEqual(await listed(objects), [id])
      await objects.delete(id)
      assert.deepEqual([...server.uploads.keys()], ["foreign"])
      await objects.close()
    }))

  test("an upload that was begun twice, because an answer was lost, is ended by the next look at all objects", () =>
    withServer(async (server) => {
      const objects = s3At(server.endpoint)
      const [id, bytes] = [name(), randomBytes(6 * 1024 * 1024)]
      server.loseAnswer(({ url = "" }) => url.endsWith("?uploads="))
      await objects.put(id, inParts(bytes))
      assert.equal(server.uploads.size, 1)
      assert.deepEqual(await listed(objects), [id])
      assert.equal(server.uploads.size, 0)
      assert.ok((await whole(objects.get(id))).equals(bytes))
      await objects.close()
    }))

  test("addresses that are wrong are told with what they must be", () => {
    for (const wrong of [
      "s3://",
      "s3://B_ad/x",
      "s3://bucket?endpoint=ftp://x",
      "s3://bucket?endpoint=http://x/y",
      "s3://bucket?token=x",
    ]) {
      assert.ok("must" in readS3Address(wrong), wrong)
    }
    assert.deepEqual(readS3Address("s3://bucket/a/b/?region=x"), {
      bucket: "bucket",
      prefix: "a/b/",
      region: "x",
      endpoint: null,
    })
  })
})
