// Asks the search of a built site without a browser: node search.js WORKER INDEX QUERY...
// Prints a list of addresses for each query, the best first. The worker is the theme's own program.
const { readFileSync } = require("fs")
const { runInNewContext } = require("vm")

const SETUP = 0, QUERY = 2, RESULT = 3
const [worker, index, ...queries] = process.argv.slice(2)
let hear
const said = []
const self = {
  addEventListener: (kind, heard) => { if (kind === "message") hear = heard },
  postMessage: message => said.push(message),
  importScripts: () => {},
  console, setTimeout, clearTimeout, URL, performance,
}
self.self = self.globalThis = self
runInNewContext(readFileSync(worker, "utf8"), self)

async function main() {
  const data = JSON.parse(readFileSync(index, "utf8").replace(/^var __index = /, ""))
  await hear({ data: { type: SETUP, data: { ...data, options: { suggest: true } } } })
  for (const query of queries) {
    said.length = 0
    await hear({ data: { type: QUERY, data: query } })
    const { items } = said.find(message => message.type === RESULT).data
    console.log(JSON.stringify(items.map(([first]) => first.location)))
  }
}

main()
