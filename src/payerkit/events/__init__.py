"""Events: what the service reports by itself (webhooks), received, verified and read. Beyond the specification.

The modules, in the order of an event:

        receiver                 takes deliveries over HTTP; events_file: the file that it appends them to
        event_lines              a delivery as one line of such a file
        signature                whether the service sent it: verify_event()
        event                    what it says
        event_sources            deliveries in files, folders and lists
        event_frame              all of them as a DataFrame, each event once: read_events()
"""
