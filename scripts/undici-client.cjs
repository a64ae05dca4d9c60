// What the bundle has of undici: its client. The whole of it, with `fetch`, WebSockets and caches, is half a megabyte more to
// read at every start.

module.exports = {
  // @ts-expect-error: the parts have no declarations of their own
  Client: require("undici/lib/dispatcher/client.js"),
  // @ts-expect-error: nor has this one
  buildConnector: require("undici/lib/core/connect.js"),
}
