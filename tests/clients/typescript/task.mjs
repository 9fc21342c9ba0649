// What a client is asked to do, and what it reports: as tests/clients/task.py has it.
const TOOL = "scrape";
const task = JSON.parse(process.argv[2]);

// A transport to the server that the task names.
export function connect(StdioTransport, HttpTransport) {
  if (task.url) {
    const headers = { Authorization: `Bearer ${task.token}` };
    return new HttpTransport(new URL(task.url), { requestInit: { headers } });
  }
  const [command, ...args] = task.command;
  return new StdioTransport({ command, args, env: task.variables });
}

// Lists the tools, scrapes the page and prints the report.
export async function work(client, revision) {
  const { tools } = await client.listTools();
  const result = await client.callTool({ name: TOOL, arguments: { url: task.page } });
  await client.close();
  const names = tools.map((tool) => tool.name);
  const text = JSON.stringify(result.content);
  console.log(JSON.stringify({ revision: revision ?? "", tools: names, text }));
}
