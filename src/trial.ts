import { runTrials } from './engine/trial/trial-process.ts';

runTrials();
