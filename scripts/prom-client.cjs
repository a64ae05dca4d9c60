// What the bundle has of prom-client. The whole of it asks for `node:cluster` and `node:zlib`, for what nobody here uses.

module.exports = {
  // @ts-expect-error: the parts have no declarations of their own
  Gauge: require("prom-client/lib/gauge.js"),
  // @ts-expect-error: the same
  Registry: require("prom-client/lib/registry.js"),
  // @ts-expect-error: the same
  collectDefaultMetrics: require("prom-client/lib/defaultMetrics.js"),
}
