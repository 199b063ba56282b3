/** How often the lifecycle's waits look, and for how long. */
import {
  adaptiveImageSchedule,
  adaptiveSchedule,
  referenceDaemonSchedule,
  referenceImageSchedule,
  referenceSchedule,
} from '../schedule.ts';
import type { Schedule } from '../schedule.ts';

/** The schedules of one sandbox's waits. */
export interface Schedules {
  /** Waits on the VM's state. */
  readonly state: Schedule;
  /** The wait for the daemon after RUNNING. */
  readonly daemon: Schedule;
  /** The wait for an image build. */
  readonly image: Schedule;
}

/** The default: quick where lives are quick, and ever more patient. */
export const adaptiveSchedules: Schedules = {
  state: adaptiveSchedule,
  daemon: adaptiveSchedule,
  image: adaptiveImageSchedule,
};

/** The fixed intervals of the reference client: 5 s for states, 2 s for the daemon, 15 s for images. */
export const referenceSchedules: Schedules = {
  state: referenceSchedule,
  daemon: referenceDaemonSchedule,
  image: referenceImageSchedule,
};
