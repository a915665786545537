"""Many rows, safely: read a table, see what would be sent, and send it so that a crash loses and repeats nothing.

The modules, by subject (a test holds that each is named):

    A table, checked where its rows are
        holder                   whose an account is: columns of the holder, or of the payer
        checked_rows             rows as they are sent, and what the checks find in them
        findings_by_row          the findings of a table
        identity                 what makes two rows one payer or one account; row_hashes: the same for whole tables
        duplicates               rows that describe one payer or account: contradictions, and which one is sent
        other_rows               rows against each other: accounts and people that several payers share
        file_cells               what was found in the cells of the table's file
        cells                    the cells of a table, read block by block as they are sent
        naming                   what the sender calls columns and cells; finding_texts: findings with these names
        table                    all of that as one table, indexed by payer and account
        text_column              columns of many texts, in little memory

    A run
        run                      onboard() and add_bank_details(); options: their options
        table_run                the order of a run: each step, what is unknown of it, the last look
        limit                    which rows a run with a limit tries
        tasks                    what each row sends, and the keys by which the journal knows it
        journal                  the file that records the state of each task
        workers                  threads, and a clean end for errors and interrupts
        rate_limit               the pace of calls, and when going on is useless
        sending                  send one task, and record its outcome

    What the service has
        listing                  the accounts that it lists for a payer, next to what the journal knows
        matching                 whether a listed account is the one that a row asks for
        existing                 before accounts are sent: which are there already
        reconcile                the outcome of a write whose response was lost, as a table of states

    What a person sees
        plan                     what would be sent, and what not and why; plan_text: all of it as text
        progress                 the progress bar; run_display: that of a run, and how long the rest takes
        row_states               the state of each row during a run
        outcomes                 the outcome of each row, from the journal
        report                   all outcomes, with what to do next; links: the file for a mail merge
        to_correct               what a corrections file has of a plan or report
        reasons                  the reasons of a report or plan, grouped; row_browser: its rows, by the page

    Many payments, without sending
        check_payments           check them, and compare them with each other
        safe_files               hand them to a Safe, one file a network

    Many payers, without sending
        list_many                their accounts; verify: those of a table, compared with what the service has
        payer_statuses           their statuses; snapshots: how these are read; payer_events: what events add
        wait_for                 wait until they are approved
"""
