"""Tables as people have them: read from spreadsheets and text files, with what is wrong in a cell, and written back.

The modules, by subject (a test holds that each is named):

    Files
        sheet                    the cells of a file as they were read, and what is odd about single ones
        read                     tables of payers and accounts, with columns named by field
        delimited                text files with separators; text_encoding: their text, in whatever encoding
        text_damage              what programs do to the text of a cell
        spreadsheets             files and texts without formulas

    Columns
        columns                  the columns of a table: their names, and which one fills which field

    Findings
        file_findings            findings about cells of a file
        normalise                what would become of a cell, in words
        source_table             a table that knows its file: findings by cell, changes, the sender's own columns

    Corrections
        corrections              rows that need something, as a file to correct; corrections_workbook: for Excel
        own_file                 such a file, read again; row_tokens: what it says of itself and its rows

    Templates
        template                 a table to fill in; template_workbook: the same for Excel
"""
