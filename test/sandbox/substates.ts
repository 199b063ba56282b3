/** Drives a sandbox into each substate over a scripted platform, holding answers back where a call must stay in flight. */
import { Sandbox, referenceSchedules } from '../../effects/index.ts';
import { ScriptedPlatform, launchAnswers, refusal, settle, vm } from '../helpers/scripted-platform.ts';

/** A sandbox in a substate, and its platform. */
export interface Stage {
  readonly sandbox: Sandbox;
  readonly platform: ScriptedPlatform;
}

const request = { imageIdentifier: 'arn:image', suspendedSec: 600 };

function begin(): Stage {
  // A clock that stands still keeps waits waiting.
  const platform = launchAnswers(new ScriptedPlatform({ autoAdvance: false }));
  platform.answer('SuspendMicrovm', {}).answer('ResumeMicrovm', {}).answer('TerminateMicrovm', {});
  return { sandbox: new Sandbox(platform.ports, { schedules: referenceSchedules }), platform };
}

/** Starts something that is expected to hang or fail, and lets it come as far as it can. */
async function start(promise: Promise<unknown>): Promise<void> {
  promise.catch(() => {});
  await settle();
}

async function running(): Promise<Stage> {
  const stage = begin();
  await stage.sandbox.run(request);
  return stage;
}

async function suspended(): Promise<Stage> {
  const stage = await running();
  stage.platform.answer('GetMicrovm', vm('SUSPENDED'));
  await stage.sandbox.suspend();
  return stage;
}

/** How to reach each substate. */
export const reach: Readonly<Record<string, () => Promise<Stage>>> = {
  'PENDING.idle': async () => begin(),
  'PENDING.launching': async () => {
    const stage = begin();
    stage.platform.hold('RunMicrovm');
    await start(stage.sandbox.run(request));
    return stage;
  },
  'PENDING.unresolved': async () => {
    const stage = begin();
    // Every send of the launch loses its answer, until it is given up.
    stage.platform.answer('RunMicrovm', 'lost');
    const run = stage.sandbox.run(request);
    run.catch(() => {});
    for (let turn = 0; turn < 8; turn += 1) await stage.platform.clock.advance(20_000);
    stage.platform.answer('RunMicrovm', vm('PENDING'));
    return stage;
  },
  'PENDING.awaitingRunning': async () => {
    const stage = begin();
    stage.platform.answer('GetMicrovm', vm('PENDING'));
    await start(stage.sandbox.run(request));
    return stage;
  },
  'PENDING.awaitingRunning (caller-kept)': async () => {
    const stage = begin();
    stage.platform.answer('GetMicrovm', vm('PENDING'));
    await start(stage.sandbox.run({ ...request, clientToken: 'kept', agentToken: 'token' }));
    return stage;
  },
  'PENDING.reviving': async () => {
    const stage = begin();
    stage.platform.answer('RunMicrovm', vm('SUSPENDED')).hold('ResumeMicrovm');
    await start(stage.sandbox.run({ ...request, clientToken: 'kept', agentToken: 'token' }));
    return stage;
  },
  'PENDING.held': async () => {
    const stage = begin();
    stage.platform.answer('GetMicrovm', vm('TERMINATED'));
    await start(stage.sandbox.run(request));
    return stage;
  },
  'RUNNING.idle': running,
  'RUNNING.suspending': async () => {
    const stage = await running();
    stage.platform.hold('SuspendMicrovm');
    await start(stage.sandbox.suspend());
    return stage;
  },
  'SUSPENDING.watching': async () => {
    const stage = await running();
    stage.platform.answer('GetMicrovm', vm('SUSPENDING'));
    await start(stage.sandbox.suspend());
    return stage;
  },
  'SUSPENDING.rereading': async () => {
    const stage = await running();
    stage.platform.answer('SuspendMicrovm', 'lost').hold('GetMicrovm');
    const suspend = stage.sandbox.suspend();
    suspend.catch(() => {});
    for (let turn = 0; turn < 8; turn += 1) await stage.platform.clock.advance(20_000);
    return stage;
  },
  'SUSPENDING.unsettled': async () => {
    const stage = await running();
    stage.platform.answer('GetMicrovm', vm('SUSPENDING'));
    await stage.sandbox.refresh();
    return stage;
  },
  'SUSPENDED.idle': suspended,
  'SUSPENDED.resuming': async () => {
    const stage = await suspended();
    stage.platform.hold('ResumeMicrovm');
    await start(stage.sandbox.resume());
    return stage;
  },
  'SUSPENDED.awaitingRunning': async () => {
    const stage = await suspended();
    await start(stage.sandbox.resume());
    return stage;
  },
  'SUSPENDED.rereading': async () => {
    const stage = await suspended();
    stage.platform.answer('ResumeMicrovm', refusal(409, 'ConflictException')).hold('GetMicrovm');
    await start(stage.sandbox.resume());
    return stage;
  },
  'TERMINATING.calling': async () => {
    const stage = await running();
    stage.platform.hold('TerminateMicrovm');
    await start(stage.sandbox.terminate());
    return stage;
  },
  'TERMINATING.watching': async () => {
    const stage = await running();
    await start(stage.sandbox.terminate({ waitForTerminated: true }));
    return stage;
  },
  'TERMINATING.accepted': async () => {
    const stage = await running();
    await stage.sandbox.terminate();
    return stage;
  },
  'TERMINATING.unaccepted': async () => {
    const stage = await running();
    stage.platform.answer('TerminateMicrovm', refusal(403, 'AccessDeniedException', 'no'));
    await stage.sandbox.terminate();
    stage.platform.answer('TerminateMicrovm', {});
    return stage;
  },
  TERMINATED: async () => {
    const stage = await running();
    stage.platform.answer('GetMicrovm', vm('TERMINATED'));
    await stage.sandbox.refresh();
    return stage;
  },
};
