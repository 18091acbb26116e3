"""Images: folders, lists, idx files and arrays → one size → splits → batches."""
