/** Network connectors and what they mean for a VM's outbound traffic (`client-behaviour.md` 2.13, BIND-11..13). */
import { VmchartError } from '../errors.ts';
import { partitionOf } from './regions.ts';

/** The managed connectors, which callers ask for by intent and never by name. */
export type ManagedConnector = 'ALL_INGRESS' | 'HTTP_INGRESS' | 'SHELL_INGRESS' | 'INTERNET_EGRESS';

/** The ARN of a managed connector. */
export function managedConnectorArn(name: ManagedConnector, region: string): string {
  return `arn:${partitionOf(region)}:lambda:${region}:aws:network-connector:aws-network-connector:${name}`;
}

/** How far a VM's outbound traffic is known to be closed. `sealed` is never derived from launch options. */
export type EgressPosture = 'open' | 'unsealed' | 'best-effort' | 'sealed';

/** The posture of a VM about which nothing is known. */
export const defaultEgressPosture: EgressPosture = 'unsealed';

/** Whether outbound traffic is closed for certain. */
export function isSealed(posture: EgressPosture): boolean {
  return posture === 'sealed';
}

/** Reads a stored label; `null` for one that nobody knows, never a default. */
export function parseEgressPosture(label: string): EgressPosture | null {
  return label === 'open' || label === 'unsealed' || label === 'best-effort' || label === 'sealed' ? label : null;
}

/** The service's limit for each of the two connector members. */
const mostConnectors = 10;

function refuse(message: string): never {
  throw new VmchartError('InvalidArg', message, { reason: 'invalid-connectors' });
}

/** Refuses a connector that is not the ARN of a customer's own connector in the region. */
function checkCustomerConnector(connector: string, region: string | undefined): void {
  const named = region ?? connector.split(':')[3] ?? '';
  const form = new RegExp(`^arn:aws[a-z-]*:lambda:${named}:\\d{12}:network-connector:[A-Za-z0-9_-]+(:[1-9]\\d*)?$`);
  const regionIsName = /^[a-z0-9-]+$/.test(named);
  if (regionIsName && connector.length <= 2_048 && form.test(connector)) return;
  refuse(
    `egressNetworkConnectors has ${JSON.stringify(connector.slice(0, 120))}, which is not a connector of your own ` +
      `in ${region ?? 'any region'}: arn:aws:lambda:<region>:<account>:network-connector:<id>.`,
  );
}

/**
 * What launch options mean for outbound traffic, and the refusals of options that contradict each other.
 * Pure: no call, no credentials. A launch uses this same function, so the two cannot disagree.
 *
 * @param region - the launch's region; without it each ARN is held against the region that it names
 * @throws VmchartError `InvalidArg` with reason `invalid-connectors`
 */
export function egressPostureFor(
  egress: boolean,
  connectors: readonly string[],
  denyEgress: boolean,
  region?: string,
): EgressPosture {
  if (egress && denyEgress) refuse('egress and denyEgress ask for opposite things.');
  if (egress && connectors.length > 0) {
    refuse('egress adds the managed connector; it cannot be combined with egressNetworkConnectors of your own.');
  }
  for (const connector of connectors) checkCustomerConnector(connector, region);
  if (connectors.length > mostConnectors) {
    refuse(`egressNetworkConnectors has ${connectors.length} connectors; the service takes at most ${mostConnectors}.`);
  }
  if (egress) return 'open';
  return denyEgress ? 'best-effort' : 'unsealed';
}

const connectorForm = /^arn:[a-z-]+:lambda:[a-z0-9-]+:(aws|\d{12}):network-connector:\S+$/;

/**
 * Refuses connector lists that the service would take at the launch and refuse later, or never take
 * (FC-013): bare names, more than ten, `ALL_INGRESS` beside a finer one, a shell without HTTP.
 *
 * @throws VmchartError `InvalidArg` with reason `invalid-connectors`
 */
export function checkConnectorLists(ingress: readonly string[], egress: readonly string[]): void {
  for (const [member, connectors] of [
    ['ingressNetworkConnectors', ingress],
    ['egressNetworkConnectors', egress],
  ] as const) {
    if (connectors.length > mostConnectors) {
      refuse(`${member} has ${connectors.length} connectors; the service takes at most ${mostConnectors}.`);
    }
    for (const connector of connectors) {
      if (connector.length <= 2_048 && connectorForm.test(connector)) continue;
      refuse(`${member} has ${JSON.stringify(connector.slice(0, 120))}, which is not the ARN of a connector.`);
    }
  }
  const has = (name: ManagedConnector) => ingress.some((connector) => connector.endsWith(`:${name}`));
  if (has('ALL_INGRESS') && ingress.length > 1) {
    refuse(
      'ingressNetworkConnectors combines ALL_INGRESS with a finer connector: the launch would succeed and the ' +
        'shell token be refused later. Use HTTP_INGRESS and SHELL_INGRESS.',
    );
  }
  if (has('SHELL_INGRESS') && !has('HTTP_INGRESS') && !has('ALL_INGRESS')) {
    refuse('ingressNetworkConnectors has SHELL_INGRESS without HTTP_INGRESS; the daemon would be out of reach.');
  }
  const managedEgress = egress.some((connector) => connector.endsWith(':INTERNET_EGRESS'));
  if (managedEgress && egress.length > 1) {
    refuse('egressNetworkConnectors combines the managed connector with others.');
  }
  if (egress.length > 1) {
    refuse(`egressNetworkConnectors has ${egress.length} connectors; the service takes one egress connector.`);
  }
}
