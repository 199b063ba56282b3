/**
 * The model checker: explores the machines that run, checks them against the spec, and walks tests through them.
 *
 * - {@link explore} and {@link machineSystem} for any machine, {@link pathsFor} for model-based tests
 * - {@link runCheck} for the four levels of the proof, {@link defineCheck} for a machine of your own
 * - {@link parseComposition}, {@link exploreProduct}, {@link toPromela} for composed systems
 *
 * @module
 */
export { explore, pathTo } from './explorer.ts';
export type { Exploration, ExploreOptions, Visit } from './explorer.ts';
export { keyOf } from './transition-system.ts';
export type { Action, FieldValue, Projection, Step, TransitionSystem } from './transition-system.ts';
export {
  doneEvent,
  effectsOf,
  errorEvent,
  machineSystem,
  statePath,
  stepperOf,
  wholeSnapshot,
} from './machine-system.ts';
export type {
  EmittedEvent,
  MachineEffects,
  MachineStep,
  MachineSystemOptions,
  StartedActor,
  Stepper,
} from './machine-system.ts';
export type {
  AlwaysProperty,
  Counterexample,
  Property,
  PropertyResult,
  ScenarioStep,
  SometimesProperty,
  StepProperty,
} from './property.ts';
export { checkProjection } from './bisimulation.ts';
export type { Difference, ProjectionCheck, ProjectionCheckOptions } from './bisimulation.ts';
export { pathsFor } from './paths.ts';
export type { ModelPath, PathsOptions, PathStep } from './paths.ts';
export { firstViolation, replay } from './replay.ts';
export { scenarioTest, scenarioText } from './counterexample.ts';
export type { TestSource } from './counterexample.ts';
export { chartOf, taken } from './coverage.ts';
export type { Chart, ChartTransition } from './coverage.ts';
export { ModelError } from './model-error.ts';
export type { ModelErrorReason } from './model-error.ts';

// The spec.
export {
  applyEffect,
  brokenInvariants,
  explain,
  initialSpecState,
  invariantsOf,
  readSymspec,
  showSpecState,
  symspec,
  symspecFile,
} from './symspec.ts';
export type {
  SpecEffect,
  SpecInvariant,
  SpecState,
  SpecStepRule,
  SpecVariable,
  Symspec,
  SymspecEntry,
  SymspecFile,
} from './symspec.ts';
export { loadZ3, proofObligations, proveInductive, toSmtLib } from './symbolic.ts';
export type { ProofObligation, ProofResult, SmtAnswer, SmtSolver } from './symbolic.ts';

// Composed systems.
export { checkTables, compileMachine } from './compile.ts';
export type { CheckTablesOptions, CompiledMachine, CompileOptions, TableDifference } from './compile.ts';
export { parseComposition } from './composition.ts';
export type {
  Composition,
  CompositionProperty,
  CompositionRule,
  CompositionTable,
  CompositionVariable,
  ParsedComposition,
  RuleJudgement,
} from './composition.ts';
export { walkComposition } from './composition-replay.ts';
export { exploreProduct } from './product.ts';
export type { ProductExploration, ProductOptions } from './product.ts';
export { toPromela } from './promela.ts';
export { composedDefaults, composedParts, composedSystem } from './composed/composed-system.ts';
export type { ComposedOptions, ComposedParts } from './composed/composed-system.ts';

// The lifecycle machine.
export { sandboxActions } from './sandbox/events.ts';
export type { SandboxAction } from './sandbox/events.ts';
export { projectSandbox } from './sandbox/projection.ts';
export { describeSandbox, restartLabel, sandboxSystem, startOf } from './sandbox/system.ts';
export type { SandboxMachine, SandboxStep, SandboxSystem, SandboxSystemOptions } from './sandbox/system.ts';
export { sandboxPropertiesOf } from './check/level1.ts';
export type { SandboxProperty } from './sandbox/client-properties.ts';
export { observedProperties, observedSystem, sometimesProperties } from './sandbox/observed.ts';
export { commandTable, optionCells, reportTable } from './sandbox/lifecycle-tables.ts';
export type { Cell, CommandRow, OptionCell, ReportRow } from './sandbox/lifecycle-tables.ts';
export type { CellResult } from './sandbox/table-check.ts';
export { guardNames, mutantMachine, mutants, seededFaults, withoutGuard } from './sandbox/mutants.ts';
export type { GuardName, Mutant } from './sandbox/mutants.ts';

// The check.
export { gather, runCheck } from './check/run-check.ts';
export type { CheckHost, CheckOptions } from './check/run-check.ts';
export { planTasks, runTask } from './check/tasks.ts';
export type { CheckBounds, CheckTask, TaskResult } from './check/tasks.ts';
export { verdictsOf } from './check/report.ts';
export type { CheckReport, Level, LevelReport, MutantReport, PartReport, PropertyVerdict } from './check/report.ts';
export { checkModule, defineCheck, moduleSystem, readModule } from './check/module.ts';
export type { CheckModule } from './check/module.ts';
export { pasteableTest } from './check/pasteable.ts';
export type { ModuleSource } from './check/pasteable.ts';
export { renderCounterexamples, renderJson, renderMutants, renderTable } from './check/render.ts';
export { renderJunit } from './check/junit.ts';
export { renderSarif } from './check/sarif.ts';
export type { SarifOptions } from './check/sarif.ts';
export { traceRequirements } from './check/trace.ts';
export type { RequirementTrace, TitledTest } from './check/trace.ts';
