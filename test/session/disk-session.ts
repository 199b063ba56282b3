/** A session with a local disk and with a daemon that the test plays. */
import { Session } from 'vmchart/effects';
import type { Clock, Http } from 'vmchart/effects';
import { localFiles, manualClock } from 'vmchart/adapters';

/** Direct, so that every request is the daemon's; by default on a clock that stands still. */
export function diskSession(http: Http, clock: Clock = manualClock()): Session {
  return Session.direct({ endpoint: 'http://x', agentToken: 't', http, clock, localFiles: localFiles() });
}
