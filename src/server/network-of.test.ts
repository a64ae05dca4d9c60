import assert from "node:assert/strict"
import { test } from "node:test"
import { networkOf } from "./network-of.ts"

test("an IPv6 address counts by its first 64 bits, an IPv4 address by itself", () => {
  const rows: readonly (readonly [ip: string | undefined, network: string])[] = [
    [undefined, ""],
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["::FFFF:10.1.2.3", "10.1.2.3"],
    ["::1", "0:0:0:0"],
    ["::", "0:0:0:0"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:0DB8:0001:0002:ffff::1", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:db8:0:0:1::", "2001:db8:0:0"],
    ["fe80::1:2:3:4%eth0", "fe80:0:0:0"],
    ["1::2:3:4:5:6:7", "1:0:2:3"],
  ]
  for (const [ip, network] of rows) assert.equal(networkOf(ip), network, ip)
})
