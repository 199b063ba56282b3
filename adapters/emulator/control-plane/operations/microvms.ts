/** The operations on a launched VM (`control-plane-api.md` 8.2 to 8.6). */
import type { VmState } from '../../../../machines/index.ts';
import { sameVersion } from '../../service/image.ts';
import type { Microvm } from '../../service/microvm.ts';
import type { Answer, Call, Operations } from '../call.ts';
import { cutPage, queryValue } from '../pages.ts';
import { conflict, invalid, notFound } from '../service-error.ts';
import { describeMicrovm, summarizeMicrovm } from '../views.ts';
import { runMicrovm } from './run-microvm.ts';

/** Whether an ended VM is no longer to be seen. */
function isForgotten({ options, clock }: Call['context'], microvm: Microvm): boolean {
  const { endedReadableMs } = options.unverified;
  if (endedReadableMs === null || microvm.state !== 'TERMINATED') return false;
  return clock.wallNow() - (microvm.terminatedWall ?? Infinity) >= endedReadableMs;
}

/** The VM that a call names, or 404. A read soon after the launch may not see it yet. */
export function findMicrovm({ context, region, labels }: Call): Microvm {
  const id = labels[0] ?? '';
  const microvm = region.microvms.get(id);
  const { readableDelayMs } = context.options.delays;
  const isUnseen = microvm === undefined || context.clock.now() < microvm.startedAt + readableDelayMs;
  if (isUnseen || isForgotten(context, microvm)) throw notFound(`MicroVM not found: ${id}`);
  return microvm;
}

/** The states that the next read answers although they are past. */
const stale = new WeakMap<Microvm, VmState>();

function getMicrovm(call: Call): Answer {
  const microvm = findMicrovm(call);
  const past = stale.get(microvm);
  stale.delete(microvm);
  return { body: describeMicrovm(microvm, call.context.options.unverified.unseenTexts, past ?? microvm.state) };
}

/** Suspend, resume and terminate differ only in the event: the machine knows the answers. */
function callOf(type: 'SUSPEND' | 'RESUME' | 'TERMINATE') {
  return (call: Call): Answer => {
    const microvm = findMicrovm(call);
    const before = microvm.state;
    const id = microvm.facts.microvmId;
    switch (microvm.call(type)) {
      case 'ok':
        if (type === 'TERMINATE' && call.context.options.unverified.staleFirstRead && microvm.state !== before) {
          stale.set(microvm, before);
        }
        return { body: {} };
      case 'validation':
        throw invalid(
          before === 'TERMINATED'
            ? `The MicroVM ${id} has been terminated and its state cannot be changed.`
            : `The MicroVM ${id} is in state ${before} and its state cannot be changed.`,
        );
      case 'conflict':
        throw conflict(`The MicroVM ${id} is in state ${before} and its state cannot be changed.`);
    }
  };
}

function listMicrovms(call: Call): Answer {
  const imageIdentifier = queryValue(call, 'imageIdentifier');
  const imageVersion = queryValue(call, 'imageVersion');
  const { listOrder, versionFilter } = call.context.options.unverified;
  const isWanted = (version: string) =>
    imageVersion === undefined ||
    (versionFilter === 'exact' ? version === imageVersion : sameVersion(version, imageVersion));
  const launched = [...call.region.microvms.values()];
  // The filters are applied before the cut, and exactly.
  const matching = (listOrder === 'newest-first' ? launched.reverse() : launched)
    .filter(({ facts }) => imageIdentifier === undefined || facts.imageArn === imageIdentifier)
    .filter(({ facts }) => isWanted(facts.imageVersion))
    .filter((microvm) => !isForgotten(call.context, microvm));
  const page = cutPage(call, matching, {
    of: `microvms ${imageIdentifier ?? ''} ${imageVersion ?? ''}`,
    keyOf: ({ facts }) => facts.microvmId,
    ...(call.context.options.unverified.listShowsMovedTwice
      ? { again: (microvm: Microvm, at: number) => microvm.changedAt > at }
      : {}),
  });
  return { body: { items: page.items.map(summarizeMicrovm), nextToken: page.nextToken } };
}

/** The six. */
export const microvmOperations: Operations = {
  RunMicrovm: runMicrovm,
  GetMicrovm: getMicrovm,
  ListMicrovms: listMicrovms,
  SuspendMicrovm: callOf('SUSPEND'),
  ResumeMicrovm: callOf('RESUME'),
  TerminateMicrovm: callOf('TERMINATE'),
};
