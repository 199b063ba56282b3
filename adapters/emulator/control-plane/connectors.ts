/** Network connectors (`platform-behaviour.md` 12). */
import { invalid } from './service-error.ts';

/** The managed connectors that a launch may name. */
const managed = new Set(['ALL_INGRESS', 'HTTP_INGRESS', 'SHELL_INGRESS', 'NO_INGRESS', 'INTERNET_EGRESS']);

/** The name of a managed connector; null for a customer's. */
export function managedConnectorName(arn: string): string | null {
  return /:aws:network-connector:aws-network-connector:([^:]+)/.exec(arn)?.[1] ?? null;
}

/** Refuses what is no connector's ARN, and managed ones that nobody knows. */
export function checkConnectors(arns: readonly string[]): void {
  for (const arn of arns) {
    if (!/^arn:[a-z0-9-]+:lambda:[a-z0-9-]+:[a-z0-9]+:network-connector:.+$/.test(arn)) {
      throw invalid('Malformed network connector ARN');
    }
    const name = managedConnectorName(arn);
    if (name !== null && !managed.has(name)) throw invalid(`Unrecognized managed network connector ARN: ${arn}`);
  }
}

/** Whether endpoint traffic may come in at all. */
export function acceptsHttp(ingress: readonly string[]): boolean {
  return ingress.some((arn) => ['ALL_INGRESS', 'HTTP_INGRESS'].includes(managedConnectorName(arn) ?? ''));
}
