/** What the composed system promises: never, and always possible. */
import type { CompositionProperty } from '../composition.ts';

/** The properties of level 2. Those of kind `step` are judged by the rules that name them. */
export const composedProperties: readonly CompositionProperty[] = [
  {
    id: 'one-vm-per-intent',
    requirement: 'STATE-3',
    says: 'There is at most one VM for an intent, however often its launch is sent, lost, repeated or taken up again.',
    kind: 'step',
  },
  {
    id: 'no-vm-forgotten',
    requirement: null,
    says: 'No VM is alive that neither the client nor its journal can find.',
    kind: 'always',
    premise: 'vm > 0 and vm_reported[vm] != TERMINATED',
    check: 'client_knows[client] = 1 or client_knows[journal] = 1',
  },
  {
    id: 'no-resume-after-end',
    requirement: 'STATE-11',
    says: "No resume call begins after the client's own terminate or an observed end.",
    kind: 'step',
  },
  {
    id: 'no-resume-past-window',
    requirement: 'STATE-12',
    says: "No resume call begins when its time minus the client's own stamp exceeds the window.",
    kind: 'step',
  },
  {
    id: 'no-suspend-outside-running',
    requirement: 'STATE-5',
    says: "No suspend call begins while the client's state is not RUNNING.",
    kind: 'step',
  },
  {
    id: 'one-installation',
    requirement: 'STATE-3',
    says: 'The daemon takes one token and never another.',
    kind: 'step',
  },
  {
    id: 'token-where-believed',
    requirement: 'STATE-2',
    says: 'Where the client believes its token installed, the daemon holds it.',
    kind: 'always',
    premise: 'client_token[client] = 1',
    check: 'bootHolder[boot] = OUR_TOKEN and bootInstallations[boot] = 1',
  },
  {
    id: 'ended-never-runs',
    requirement: 'STATE-11',
    says: "What the client saw or asked to end never runs in the client's eyes.",
    kind: 'always',
    premise: 'client_ended[client] = 1',
    check: 'client_state[client] != RUNNING',
  },
  {
    id: 'callers-are-answered',
    requirement: null,
    says: 'A caller waits exactly as long as the machine has its command.',
    kind: 'always',
    check: 'callerBits[caller1, caller2] = client_waits[client]',
  },
  {
    id: 'both-sides-terminate',
    requirement: 'STATE-10',
    says: 'From every reachable state a path leads to "terminated on both sides".',
    kind: 'reachable',
    goal: 'client_state[client] = TERMINATED and vm > 0 and vm_reported[vm] = TERMINATED',
  },
  {
    id: 'nobody-waits-for-ever',
    requirement: null,
    says: 'From every reachable state a path leads to one where no caller waits.',
    kind: 'reachable',
    goal: 'caller1 = 0 and caller2 = 0',
  },
  {
    id: 'intruder-wins',
    requirement: null,
    says: 'The process inside the VM may win the race for the bootstrap.',
    kind: 'sometimes',
    check: 'bootHolder[boot] = 2',
  },
  {
    id: 'life-goes-on-after-crash',
    requirement: null,
    says: 'A client that died and was restored may find its VM running.',
    kind: 'sometimes',
    check: 'crashes = 0 and client_state[client] = RUNNING',
  },
  {
    id: 'wakes-by-traffic',
    requirement: null,
    says: 'The VM may run while the client believes it suspended.',
    kind: 'sometimes',
    check: 'client_state[client] = SUSPENDED and vm > 0 and vm_reported[vm] = RUNNING',
  },
];
