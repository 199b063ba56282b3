/** The two token operations (`control-plane-api.md` 8.7 and 8.8). */
import type { PortSpecification } from '../../proxy/proxy-tokens.ts';
import type { Answer, Call, Operations } from '../call.ts';
import { managedConnectorName } from '../connectors.ts';
import { isObject, makeConstraints, UnreadableBody } from '../constraints.ts';
import type { Constraints, JsonObject } from '../constraints.ts';
import { conflict, invalid } from '../service-error.ts';
import { findMicrovm } from './microvms.ts';

/** The longest life of a token, in minutes. */
const longestMinutes = 60;

function readPort(constraints: Constraints, entry: unknown, index: number): PortSpecification {
  if (!isObject(entry)) throw new UnreadableBody();
  const members = Object.keys(entry).filter((member) => entry[member] !== null);
  const path = (member: string) => `allowedPorts.${index + 1}.member.${member}`;
  const number = (owner: JsonObject, member: string, shown = member) =>
    constraints.integer(owner, member, { required: true, min: 1, max: 65_535, path: path(shown) }) ?? 0;
  // A union: exactly one key.
  if (members.length !== 1) throw new UnreadableBody();
  switch (members[0]) {
    case 'port':
      return { port: number(entry, 'port') };
    case 'range': {
      const range = constraints.object(entry, 'range') ?? {};
      return {
        range: {
          startPort: number(range, 'startPort', 'range.startPort'),
          endPort: number(range, 'endPort', 'range.endPort'),
        },
      };
    }
    case 'allPorts':
      if (!isObject(entry['allPorts'])) throw new UnreadableBody({ Message: 'Expected null' });
      return { allPorts: {} };
    default:
      throw new UnreadableBody();
  }
}

function checkMinutes(minutes: number): void {
  if (minutes > longestMinutes) {
    throw invalid(`ExpirationMinutes ${minutes} exceeded max allowed of ${longestMinutes}.`);
  }
}

/** What a VM's state says to a mint. */
function checkMintable(call: Call): void {
  const microvm = findMicrovm(call);
  const id = microvm.facts.microvmId;
  const { mintOfPending, mintOfTerminated } = call.context.options.unverified;
  const { state } = microvm;
  if (state === 'PENDING' && mintOfPending === 'conflict') throw conflict(`The MicroVM ${id} is in state PENDING.`);
  if (state !== 'TERMINATED') return;
  if (mintOfTerminated === 'conflict') throw conflict(`The MicroVM ${id} has been terminated.`);
  if (mintOfTerminated === 'validation') {
    throw invalid(`The MicroVM ${id} has been terminated and its state cannot be changed.`);
  }
}

function createAuthToken(call: Call): Answer {
  const constraints = makeConstraints();
  const minutes = constraints.integer(call.body, 'expirationInMinutes', { required: true, min: 1 }) ?? 0;
  const ports = constraints.list(call.body, 'allowedPorts', { required: true, min: 1 }) ?? [];
  const allowedPorts = ports.map((entry, index) => readPort(constraints, entry, index));
  constraints.check();
  checkMinutes(minutes);
  checkMintable(call);
  const microvmId = call.labels[0] ?? '';
  const token = call.context.tokens.mint({ microvmId, kind: 'endpoint', allowedPorts }, minutes);
  return { body: { authToken: { 'X-aws-proxy-auth': token } } };
}

function createShellAuthToken(call: Call): Answer {
  const constraints = makeConstraints();
  const minutes = constraints.integer(call.body, 'expirationInMinutes', { required: true, min: 1 }) ?? 0;
  constraints.check();
  checkMinutes(minutes);
  checkMintable(call);
  const microvm = findMicrovm(call);
  const ingress = microvm.facts.ingressNetworkConnectors.map(managedConnectorName);
  if (ingress.includes('ALL_INGRESS') && ingress.length > 1) {
    throw invalid(
      'ALL_INGRESS cannot be combined with other ingress network connectors; use HTTP_INGRESS and/or SHELL_INGRESS instead',
    );
  }
  if (!ingress.includes('SHELL_INGRESS')) {
    throw invalid('Shell access requires SHELL_INGRESS network connector to be configured on the MicroVM.');
  }
  const token = call.context.tokens.mint(
    { microvmId: microvm.facts.microvmId, kind: 'shell', allowedPorts: [] },
    minutes,
  );
  return { body: { authToken: { 'X-aws-proxy-auth': token } } };
}

/** The two. */
export const tokenOperations: Operations = {
  CreateMicrovmAuthToken: createAuthToken,
  CreateMicrovmShellAuthToken: createShellAuthToken,
};
