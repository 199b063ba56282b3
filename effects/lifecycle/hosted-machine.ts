/** The lifecycle machine with its actors, shared by all lives that have the same ports and ask for nothing special. */
import { sandboxMachine } from '../../machines/sandbox.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import type { ControlPlaneOptions } from '../control-plane/control-plane.ts';
import type { Ports } from '../ports.ts';
import { controlPlaneActors } from './actors.ts';
import { adaptiveSchedules } from './schedules.ts';
import type { Schedules } from './schedules.ts';

/** A control-plane client and the machine that it drives. */
export interface HostedMachine {
  readonly plane: ControlPlane;
  readonly machine: typeof sandboxMachine;
}

// A machine with actors of its own weighs about a hundred kilobytes; an actor of a shared one, four.
const shared = new WeakMap<Ports, HostedMachine>();

/** The machine for a life. */
export function hostedMachine(ports: Ports, schedules: Schedules, options: ControlPlaneOptions): HostedMachine {
  const { unlistedRegion, retry, retryAccessDenied, quotaCooldownMs } = options;
  const special = [unlistedRegion, retry, retryAccessDenied, quotaCooldownMs].some((option) => option !== undefined);
  if (special || schedules !== adaptiveSchedules) return host(ports, schedules, options);
  let hosted = shared.get(ports);
  if (hosted === undefined) {
    hosted = host(ports, schedules, {});
    shared.set(ports, hosted);
  }
  return hosted;
}

function host(ports: Ports, schedules: Schedules, options: ControlPlaneOptions): HostedMachine {
  const plane = new ControlPlane(ports, options);
  return { plane, machine: sandboxMachine.provide({ actors: controlPlaneActors(ports, { plane, schedules }) }) };
}
