/** `GET /v1/health` (`agentd-protocol.md` 5). */
import type { HookObservation } from './hooks.ts';
import type { DaemonSettings } from './options.ts';
import { sendJson } from './replies.ts';
import type { Route } from './router.ts';
import type { IdentityStep } from './identity-repair.ts';

/** What health reports; asked anew for each answer. */
export interface HealthSources {
  readonly settings: DaemonSettings;
  bootstrapped(): boolean;
  availableBytes(): number | null;
  hooks(): { readonly log: readonly HookObservation[]; readonly dropped: number };
  /** Empty until the run hook, and when repair is off. */
  identitySteps(): readonly IdentityStep[];
  execs(): { readonly total: number; readonly unpublished: number };
  readonly imageEnvKeys: number;
  readonly powerOff: boolean;
}

/** The health route. */
export function healthRoute(sources: HealthSources): Route {
  const { settings } = sources;
  return {
    path: '/v1/health',
    auth: 'none',
    methods: {
      GET: ({ response }) => {
        if (sources.powerOff) response.setHeader('microvm-poweroff-on-exit', '1');
        if (settings.defaultUser !== null) response.setHeader('microvms-default-user-configured', '1');
        const available = sources.availableBytes();
        const steps = sources.identitySteps();
        const execs = sources.execs();
        const hooks = sources.hooks();
        sendJson(response, {
          version: settings.version,
          bootstrapped: sources.bootstrapped(),
          disk:
            available === null
              ? null
              : {
                  available_bytes: available,
                  reserve_bytes: settings.diskReserveBytes,
                  under_pressure: settings.diskReserveBytes > 0 && available < settings.diskReserveBytes,
                },
          identity_degraded: steps.some(({ outcome }) => outcome === 'failed'),
          identity_repaired: steps.length > 0,
          busy: execs.unpublished > 0,
          execs: execs.total,
          hooks: hooks.log,
          hooks_dropped: hooks.dropped,
          identity_steps: steps,
          image_env_keys: sources.imageEnvKeys,
        });
      },
    },
  };
}
