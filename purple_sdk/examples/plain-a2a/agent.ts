// The agent of agent.py in TypeScript, on @a2a-js/sdk and express alone: npm install; npm start -- --port 8001
import { AgentEvent, DefaultRequestHandler, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { Role, type AgentCard } from "@a2a-js/sdk";
import { randomUUID } from "node:crypto";
import express from "express";

type Start = { ues_url: string; api_key: string };

class Doorman implements AgentExecutor {
  private starts = new Map<string, Start>(); // one assessment per A2A context
  private turns = new Map<string, Promise<object>>(); // by message id: the same message may come twice

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const content = context.userMessage.parts[0]?.content;
    const said = content?.$case === "text" ? JSON.parse(content.value) : content?.value;
    const { messageId } = context.userMessage;
    if (said.message_type === "assessment_start") this.starts.set(context.contextId, said);
    if (said.message_type === "turn_start" && !this.turns.has(messageId))
      this.turns.set(messageId, this.play(this.starts.get(context.contextId)!, said.current_time));
    const answer = (await this.turns.get(messageId)) ?? {};
    bus.publish(AgentEvent.message({
      messageId: randomUUID(), contextId: context.contextId, taskId: "", role: Role.ROLE_AGENT, metadata: undefined,
      parts: [{ content: { $case: "data", value: answer }, metadata: undefined, filename: "", mediaType: "application/json" }],
      extensions: [], referenceTaskIds: [],
    }));
    bus.finished();
  }

  private async play(start: Start, timestamp: string): Promise<object> {
    const ask = async (path: string, body: object) => {
      const headers = { "X-API-Key": start.api_key, "Content-Type": "application/json" };
      return (await fetch(`${start.ues_url}/${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
    };
    const mails = await ask("email/query", { folder: "inbox", is_read: false });
    const parameters = { role: "assistant", content: `${mails.total_count} unread mails` };
    await ask("chat/send", parameters);
    return { message_type: "turn_complete", actions: [{ timestamp, action: "chat.send", parameters, success: true }] };
  }

  async cancelTask(): Promise<void> {}
}

const port = Number(process.argv[process.argv.indexOf("--port") + 1] ?? 8001);
const modes = ["application/json"];
const card: AgentCard = {
  name: "doorman", description: "Counts mail.", version: "1", provider: undefined,
  supportedInterfaces: [{ url: `http://127.0.0.1:${port}/`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }],
  capabilities: { streaming: false, pushNotifications: false, extensions: [] }, securitySchemes: {}, securityRequirements: [],
  defaultInputModes: modes, defaultOutputModes: modes, signatures: [],
  skills: [{ id: "count", name: "Count mail", description: "Counts the unread mail.", tags: ["mail"], examples: [],
    inputModes: modes, outputModes: modes, securityRequirements: [] }],
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Doorman());
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(port, "127.0.0.1", () => console.log(`doorman listening on http://127.0.0.1:${port}`));
