"""Tables as people have them: read from spreadsheets and text files, with what is wrong in a cell, and written back.

The modules, by subject (a test holds that each is named):

    Files
        sheet                    the cells of a file as they were read, and what is odd about single ones
        file_kinds               what a file is, by its first bytes
        workbook                 Excel workbooks; sheet_cells: their rows, collected
        old_workbook             .xls and .ods
        number_formats           how a number format shows a whole number; cell_texts: numbers and dates as texts
        source_sheets            any file, read into a sheet; raw_table: its header, and the rows below
        read                     tables of payers and accounts, with columns named by field
        delimited                text files with separators; text_encoding: their text, in whatever encoding
        text_damage              what programs do to the text of a cell
        spreadsheets             files and texts without formulas

    Columns
        columns                  the columns of a table by our names, and which one fills which field
        header                   which row has the names, and what they are
        header_names             which columns of ours a header may name; a table of names in four languages
        header_mapping           which column is which: certain, chosen, or open, with what to pass
        mapping                  the same, for a person to see, correct and keep; mapping_file: as JSON

    Values
        normalise                cells that have exactly one meaning, rewritten with consent

    Findings
        file_findings            findings about cells of a file
        damage                   what spreadsheets did to cells, judged by field
        source_table             a table that knows its file: findings by cell, changes, the sender's own columns

    Corrections
        corrections              rows that need something, as a file to correct; corrections_workbook: for Excel
        own_file                 such a file, read again; row_tokens: what it says of itself and its rows

    Templates
        template                 a table to fill in; template_workbook: the same for Excel
"""
