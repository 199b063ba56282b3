/** A local port into a kept VM, until a signal. */
import { forwardPort } from '../../sockets/port-forward.ts';
import { serveTunnel } from '../../sockets/serve-tunnel.ts';
import type { TunnelEnd } from '../../sockets/tunnel.ts';
import type { Session, TunnelIdentity } from '../../../effects/index.ts';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command.ts';
import type { KeptVm } from '../registry/kept-vm.ts';
import { openKept, sessionOf } from '../registry/kept-vm.ts';
import { identityOf } from '../registry/tunnel-identity.ts';
import { untilStopped } from '../signals.ts';

/** What is to be forwarded. */
export interface ForwardPlan {
  readonly name: string;
  readonly region: string | undefined;
  /** 0 takes a free one. */
  readonly localPort: number;
  readonly guestPort: number;
  readonly mode: 'http' | 'tcp' | 'verified';
}

/** Serves until it is stopped; stopping is its normal end. */
export async function forward(plan: ForwardPlan, context: CommandContext): Promise<void> {
  const { terminal, interrupts } = context;
  await using kept = await openKept(plan.name, context, plan);
  const session = await sessionOf(kept, context);
  await using server = await open(plan, session, kept, context).catch((error: unknown) => {
    throw portError(error, plan.localPort);
  });
  const { host, port } = server;
  const address = plan.mode === 'http' ? `http://${host}:${port}` : `${host}:${port}`;
  const data = { name: plan.name, host, port, guestPort: plan.guestPort, mode: plan.mode };
  const { accent, quiet } = terminal.paintOut;
  await context.announce({
    data,
    text: `${accent(address)} leads to port ${plan.guestPort} of ${plan.name}\n${quiet('Stop it with Ctrl-C.')}`,
  });
  await untilStopped(interrupts.signal);
  server.stop();
}

async function open(plan: ForwardPlan, session: Session, kept: KeptVm, { terminal }: CommandContext) {
  const { guestPort, localPort, mode } = plan;
  if (mode === 'http') {
    return await forwardPort(session, {
      guestPort,
      localPort,
      onExchange: ({ method, path, status }) => terminal.progress(`${status}  ${method} ${path.replace(/\?.*/s, '')}`),
    });
  }
  const identity = mode === 'verified' ? await identityOrRefuse(kept) : null;
  return await serveTunnel(session, {
    guestPort,
    localPort,
    identity,
    onEnd: (end) => terminal.progress(`connection ${end instanceof Error ? `failed: ${end.message}` : endText(end)}`),
  });
}

function endText(end: TunnelEnd): string {
  switch (end.kind) {
    case 'Closed':
      return 'closed';
    case 'Refused':
      return `refused by the VM: ${end.reason || 'no reason given'} (${end.code})`;
    case 'Truncated':
      return 'cut: its last bytes may be missing';
    case 'ClosedUnproven':
      return 'closed; a daemon of this age does not prove that nothing is missing';
  }
}

async function identityOrRefuse(kept: KeptVm): Promise<TunnelIdentity> {
  const identity = await identityOf(kept.platform.ports.secrets, kept.name);
  if (identity !== null) return identity;
  throw new CliError('Precondition', `${kept.name} was launched without a tunnel identity.`, {
    suggestions: ['Use --tcp, or launch with: vmchart run --keep --identity --name NAME'],
  });
}

function portError(error: unknown, port: number): unknown {
  const cause = (error as { cause?: NodeJS.ErrnoException }).cause;
  if (cause?.code !== 'EADDRINUSE') return error;
  return new CliError('Precondition', `Port ${port} is in use.`, {
    suggestions: ['Choose another one, or 0 to take a free one.'],
    cause: error,
  });
}
