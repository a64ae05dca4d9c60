import assert from "node:assert/strict"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { readS3Address, S3Objects } from "../../src/adapters/files/s3-objects.ts"
import { testKeys } from "./s3-server.ts"

/** Our client of S3, in the bucket of the test server. */
export function s3At(endpoint: string, keys = testKeys, prefix = "some/where (1)"): S3Objects {
  const address = readS3Address(`s3://bucket/${encodeURI(prefix)}?endpoint=${encodeURIComponent(endpoint)}&region=eu-1`)
  assert.ok(!("must" in address))
  return new S3Objects(address, keys, createEgress({ policy: { kind: "private" } }), () => Date.now())
}
