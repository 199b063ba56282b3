/**
 * The lifecycle machine in a host of one's own: no facade, a journal, and every answer printed.
 *
 * Runs on the embedded platform: `node dist/examples/embed.js`.
 */
import { createActor, waitFor } from 'xstate';
import { awsPorts, controlPlaneActors, sandboxEvents, sandboxMachine, substateOf } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';

await using platform = await startEmulator();
const ports = awsPorts({
  endpointUrl: platform.endpoint,
  region: platform.region,
  credentials: platform.credentials,
});

const machine = sandboxMachine.provide({ actors: controlPlaneActors(ports) });
const actor = createActor(machine, { input: { sandboxId: 'job-17', region: ports.region } });
const events = sandboxEvents({ now: () => ports.clock.now(), nextId: () => crypto.randomUUID() });

actor.on('ANSWERED', ({ command, verdict, refusal }) => console.log(command, verdict, refusal?.message ?? ''));
actor.on('SETTLED', ({ command, error }) => console.log(command, error === null ? 'done' : error.message));
actor.start();

// A machine holds references to secrets, never their values.
await ports.secrets.put('job-17/agent-token', 'a-token-that-no-snapshot-shows');
actor.send(
  events.run({
    clientToken: `run-job-17-${crypto.randomUUID()}`,
    callerKept: false,
    wait: true,
    timeoutMs: 60_000,
    request: {
      imageIdentifier: platform.imageArn,
      suspendedSec: 600,
      options: {},
      agentTokenRef: 'job-17/agent-token',
      launchEnvRef: null,
      identityRef: null,
    },
  }),
);
await waitFor(actor, (snapshot) => snapshot.matches({ RUNNING: 'idle' }));

actor.send(events.suspend());
actor.send(events.resume()); // deferred: carried out as soon as the VM is suspended
await waitFor(actor, (snapshot) => snapshot.matches({ RUNNING: 'idle' }) && snapshot.context.waiting.length === 0);

actor.send(events.terminate({ timeoutMs: 60_000 }));
await waitFor(actor, (snapshot) => snapshot.matches('TERMINATED'));
console.log(substateOf(actor.getSnapshot()), (await ports.journal.read('job-17'))?.substate);
actor.stop();
