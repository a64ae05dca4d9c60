import assert from "node:assert/strict"
import { test } from "node:test"
import { assertLinear } from "../../test/support/cpu-time.ts"
import { isForCredentials, knownCredentials } from "./known-credentials.ts"

test("names that are for credentials, and names that are not", () => {
  const names = ["api_key", "apikey", "X-API-Key", "apiKey", "Authorization", "access_token", "accessToken", "token"]
  const more = [
    "client_secret",
    "DB_PASSWORD",
    "Cookie",
    "Ocp-Apim-Subscription-Key",
    "x-goog-api-key",
    "PRIVATE-TOKEN",
  ]
  for (const name of [...names, ...more]) assert.ok(isForCredentials(name), name)
  const others = ["key", "keys", "max_tokens", "page_token", "nextPageToken", "tokens", "monkey", "secretary", "author"]
  for (const name of others) assert.ok(!isForCredentials(name), name)
})

test("texts that are made to be slow are searched in linear time", async () => {
  const begins = [
    "sk-",
    "sk-a1-",
    "sk-aaaaaaaaaaaaaaaaaaa-",
    "eyJ-",
    "eyJaaaaaaaaaa.eyJaaaa-",
    "xoxb-",
    "SG.-",
    "glpat-",
  ]
  const more = [
    "whsec_",
    "-----BEGIN PRIVATE KEY-----/",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----\\n",
    "AKIA",
    "github_pat_",
    "ya29.",
    "sk-1a1a1a1a1a1_",
  ]
  for (const begin of [...begins, ...more]) {
    await assertLinear((size) => [...knownCredentials(begin.repeat(size / begin.length))].length, 10_000, 160_000)
  }
})
