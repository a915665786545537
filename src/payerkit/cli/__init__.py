"""The command line: `payerkit lab | sandbox | onboard | events | inspect`."""
