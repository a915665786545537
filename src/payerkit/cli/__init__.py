"""The command line: `payerkit lab | docs | sandbox | onboard | inspect | trace`."""
