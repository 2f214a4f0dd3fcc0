"""Reports for auditors: queries over the facts, with what they stand on stated beside them."""
