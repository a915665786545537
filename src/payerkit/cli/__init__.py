"""The command line: `payerkit lab | sandbox | onboard | inspect | demo`."""
