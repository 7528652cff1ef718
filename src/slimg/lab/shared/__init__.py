"""What the rooms of the laboratory share: tables and pages in writing, the paper's numbers, and objects of users' files."""
